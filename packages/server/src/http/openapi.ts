/** The description of the HTTP API. */
export const openApi: Readonly<Record<string, unknown>> = {}
