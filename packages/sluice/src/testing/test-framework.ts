/** The slice of a test framework that the suites need; `vitest` has it. */
export interface TestFramework {
  describe(name: string, body: () => void): unknown
  it(name: string, body: (context: { skip(why: string): void }) => Promise<void>): unknown
  beforeAll(body: () => Promise<void>): unknown
  afterAll(body: () => Promise<void>): unknown
}
