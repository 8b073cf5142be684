// Whether the daemon in this container answers, by the variables that say where it listens and whether it speaks TLS.
import { get as overHttp } from 'node:http'
import { get as overTls } from 'node:https'

const { SLUICE_PORT, PORT, SLUICE_TLS_CERT } = process.env
const get = SLUICE_TLS_CERT ? overTls : overHttp
// The certificate is for the name by which others know the daemon, not for 127.0.0.1.
const options = { host: '127.0.0.1', port: SLUICE_PORT || PORT || 8440, path: '/health', rejectUnauthorized: false }
get(options, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))
