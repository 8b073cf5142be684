import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { wrongOption } from '../option-error.ts'

/** What the listeners need for TLS. */
export interface Tls {
  readonly cert: Buffer
  readonly key: Buffer
  /** Clients must show a certificate that this authority has signed; undefined when they need none. */
  readonly clientCa: Buffer | undefined
}

interface Given {
  readonly value: string | undefined
  readonly from: string | undefined
}

/** Reads certificate and key, and tries whether they belong together. */
export function readTls(cert: Given, key: Given, clientCa: Given): Tls | undefined {
  if (cert.value === undefined && key.value === undefined) {
    if (clientCa.value !== undefined)
      throw wrongOption(clientCa.from!, clientCa.value, 'it needs --tls-cert and --tls-key beside it')
    return undefined
  }
  if (cert.value === undefined) throw wrongOption(key.from!, key.value, 'give the certificate too: --tls-cert FILE')
  if (key.value === undefined) throw wrongOption(cert.from!, cert.value, 'give the private key too: --tls-key FILE')
  const tls = {
    cert: fileOf(cert),
    key: fileOf(key),
    clientCa: clientCa.value === undefined ? undefined : fileOf(clientCa),
  }
  try {
    createSecureContext({ cert: tls.cert, key: tls.key, ca: tls.clientCa })
  } catch (error) {
    throw wrongOption(cert.from!, cert.value, `certificate and key cannot be used: ${(error as Error).message}`)
  }
  return tls
}

function fileOf({ value, from }: Given): Buffer {
  try {
    return readFileSync(value!)
  } catch (error) {
    throw wrongOption(from!, value, `give a file that can be read: ${(error as Error).message}`)
  }
}
