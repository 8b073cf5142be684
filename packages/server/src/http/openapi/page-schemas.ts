import { count, flag, object, orNull, type Schema, text } from './schema-parts.ts'

/** What the routes of the page take and answer. */
export const pageSchemas: Readonly<Record<string, Schema>> = {
  SignIn: object({ secret: { ...text, minLength: 1, maxLength: 1000 } }),
  Session: object({ signedIn: flag, endsAt: orNull('integer') }),
  SessionCode: object({ code: text, expiresInMs: count }),
}
