/** The metrics, as Prometheus asks for them. */
export interface MetricsPage {
  readonly contentType: string
  text(): Promise<string>
  /** One HTTP request came in; the returned function counts its answer. */
  begin(): (route: string, status: number) => void
}
