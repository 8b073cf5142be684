import { invalidOption } from '../../../core/errors.ts'

/** PostgreSQL cuts longer names off, and so makes two of them one. */
const longestName = 63

/** A name as SQL takes it, whatever is in it. */
export function quoteName(name: string, option: string): string {
  if (typeof name !== 'string' || name === '' || name.includes('\0') || Buffer.byteLength(name) > longestName) {
    throw invalidOption(option, name, `give a name of 1 to ${longestName} bytes`)
  }
  return `"${name.replaceAll('"', '""')}"`
}

/** A table as SQL takes it: `name`, or `schema.name`. */
export function quoteTable(table: string): string {
  const parts = typeof table === 'string' ? table.split('.') : []
  if (parts.length < 1 || parts.length > 2) throw invalidOption('table', table, 'give a name, or schema.name')
  return parts.map((part) => quoteName(part, 'table')).join('.')
}

const quoteText = (text: string): string => `'${text.replaceAll("'", "''")}'`

/**
 * The table of policies, one row for each version, with a trigger that announces rows written by any hand. Safe to run
 * again, and by many at once: the lock is there because `CREATE TABLE IF NOT EXISTS` is not.
 */
export function createTableSql(table: string, channel: string): string {
  const [name = '', schema] = table.split('.').reverse()
  // Names of its own would be too long next to a long table name.
  const announce = [...(schema === undefined ? [] : [schema]), `${name.slice(0, 40)}_announce`]
  const announceName = announce.map((part) => quoteName(part, 'table')).join('.')
  const tableName = quoteTable(table)
  return `
    SELECT pg_advisory_xact_lock(hashtext('sluice policy table'));
    CREATE TABLE IF NOT EXISTS ${tableName} (
      service text NOT NULL,
      revision bigint NOT NULL,
      document jsonb NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (service, revision)
    );
    DO $create$ BEGIN
      IF NOT EXISTS (
        SELECT FROM pg_trigger WHERE tgrelid = ${quoteText(tableName)}::regclass AND tgname = 'sluice_announce'
      ) THEN
        CREATE OR REPLACE FUNCTION ${announceName}() RETURNS trigger LANGUAGE plpgsql AS $announce$ BEGIN
          PERFORM pg_notify(TG_ARGV[0], coalesce(NEW.service, OLD.service));
          RETURN NULL;
        END $announce$;
        CREATE TRIGGER sluice_announce AFTER INSERT OR UPDATE OR DELETE ON ${tableName}
          FOR EACH ROW EXECUTE FUNCTION ${announceName}(${quoteText(channel)});
      END IF;
    END $create$;`
}
