// Whether what runs in this container answers: by the command and options of its first process, and by the variables
// that say where it listens and whether it speaks TLS.
import { readFileSync } from 'node:fs'
import { get as overHttp } from 'node:http'
import { get as overTls } from 'node:https'

const { SLUICE_PORT, SLUICE_COLLECT_PORT, SLUICE_WORK_PORT, PORT, SLUICE_TLS_CERT } = process.env
const words = readFileSync(`/proc/${process.argv[2] ?? 1}/cmdline`, 'utf8').split('\0')
const option = /--port(?:=|\0)(\d+)/.exec(words.join('\0'))?.[1]
const ports = { proxy: PORT || 8460, collect: SLUICE_COLLECT_PORT || 8450, work: SLUICE_WORK_PORT || 8470 }
const command = Object.keys(ports).find((name) => words.includes(name))
const port = option ?? (command === undefined ? SLUICE_PORT || PORT || 8440 : ports[command])
const get = SLUICE_TLS_CERT && command !== 'work' ? overTls : overHttp
// The certificate is for the name by which others know the daemon, not for 127.0.0.1.
const options = { host: '127.0.0.1', port, path: '/health', rejectUnauthorized: false }
get(options, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))
