import fs from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** Stores one event; resolves when it is durable. */
export interface Contender {
  append(event: object): Promise<unknown>
  close(): Promise<unknown>
}

/** Peers receive all events of one turn of the event loop as one batch: without that they would sync for each event. */
function batched(store: (events: readonly string[]) => Promise<unknown> | unknown): (event: object) => Promise<void> {
  let gathered: { text: string; done: () => void; fail: (error: unknown) => void }[] = []
  let busy = false
  const run = async (): Promise<void> => {
    busy = true
    while (gathered.length > 0) {
      const batch = gathered
      gathered = []
      try {
        await store(batch.map(({ text }) => text))
        for (const { done } of batch) done()
      } catch (error) {
        for (const { fail } of batch) fail(error)
      }
      await new Promise((resolve) => setImmediate(resolve))
    }
    busy = false
  }
  return (event) =>
    new Promise((done, fail) => {
      gathered.push({ text: JSON.stringify(event), done, fail })
      if (!busy) {
        busy = true
        setImmediate(() => void run())
      }
    })
}

async function sluice(dir: string): Promise<Contender> {
  const { createShipper } = await import('sluice/shipper')
  const shipper = await createShipper({ dir, flushInterval: false, send: async () => undefined })
  return { append: (event) => shipper.ship(event), close: () => shipper.close() }
}

/** One write and one fdatasync for each event, as a service can do them without blocking its event loop. */
async function raw(dir: string): Promise<Contender> {
  fs.mkdirSync(dir, { recursive: true })
  const file = fs.openSync(join(dir, 'raw'), 'w')
  let position = 0
  return {
    append: (event) =>
      new Promise((resolve, reject) => {
        const bytes = Buffer.from(JSON.stringify(event))
        fs.write(file, bytes, 0, bytes.length, position, (failed) => {
          position += bytes.length
          if (failed) reject(failed)
          else fs.fdatasync(file, (error) => (error ? reject(error) : resolve(undefined)))
        })
      }),
    close: async () => fs.closeSync(file),
  }
}

/** The same with calls that block the event loop: the lower bound of what the disk takes. */
async function rawBlocking(dir: string): Promise<Contender> {
  fs.mkdirSync(dir, { recursive: true })
  const file = fs.openSync(join(dir, 'raw'), 'w')
  return {
    append: async (event) => {
      fs.writeSync(file, JSON.stringify(event))
      fs.fdatasyncSync(file)
    },
    close: async () => fs.closeSync(file),
  }
}

async function level(dir: string): Promise<Contender> {
  const { Level } = await import('level')
  const db = new Level<string, string>(dir)
  await db.open()
  let seq = 0
  const store = (events: readonly string[]): Promise<void> =>
    db.batch(
      events.map((value) => ({ type: 'put' as const, key: String(seq++).padStart(12, '0'), value })),
      { sync: true },
    )
  return { append: batched(store), close: () => db.close() }
}

interface Sqlite {
  pragma(text: string): unknown
  exec(text: string): unknown
  prepare(text: string): { run(value: string): unknown }
  transaction(run: (events: readonly string[]) => void): (events: readonly string[]) => void
  close(): void
}

/**
 * Where `npm install --no-save --prefix .cache/bench better-sqlite3@^12` puts it: it takes minutes to compile, so it is
 * not a dependency.
 */
export const sqliteHome: string = join(import.meta.dirname, '..', '..', '.cache', 'bench', 'package.json')

async function sqlite(dir: string): Promise<Contender> {
  fs.mkdirSync(dir, { recursive: true })
  const Database = createRequire(sqliteHome)('better-sqlite3') as new (file: string) => Sqlite
  const db = new Database(join(dir, 'events.db'))
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.exec('CREATE TABLE events (seq INTEGER PRIMARY KEY, data TEXT)')
  const insert = db.prepare('INSERT INTO events (data) VALUES (?)')
  const all = db.transaction((events) => {
    for (const event of events) insert.run(event)
  })
  return { append: batched(all), close: async () => db.close() }
}

export const contenders = { sluice, raw, 'raw, blocking': rawBlocking, level, 'better-sqlite3': sqlite } as const
export type ContenderName = keyof typeof contenders
