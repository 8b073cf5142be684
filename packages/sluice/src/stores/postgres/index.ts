export {
  type PostgresClient,
  type PostgresPolicyOptions,
  type PostgresPool,
  type PostgresResult,
  postgresPolicy,
} from '../../policy/sources/postgres/postgres.ts'
export { type PostgresStoreOptions, postgresStore } from './postgres-store.ts'
