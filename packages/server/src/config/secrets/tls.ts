import { readFileSync } from 'node:fs'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { FileBacked } from '../../connections/file-backed.ts'
import { wrongOption } from '../../connections/option-error.ts'
import type { RedisTls } from '../../connections/redis-target.ts'
import type { Given, Options } from '../read-options.ts'

/** What the listeners need for TLS. */
export interface Tls {
  readonly cert: Buffer
  readonly key: Buffer
  /** Clients must show a certificate that this authority has signed; undefined when they need none. */
  readonly clientCa: Buffer | undefined
}

/** Reads certificate and key, and tries whether they belong together. They are read again when they change. */
export function readTls({ read }: Options): FileBacked<Tls> | undefined {
  const [cert, key, clientCa] = [read('tls-cert'), read('tls-key'), read('tls-client-ca')]
  if (!isPair(cert, key, 'tls')) {
    if (clientCa.value !== undefined)
      throw wrongOption(clientCa.from!, clientCa.value, 'it needs --tls-cert and --tls-key beside it')
    return undefined
  }
  return new FileBacked(filesOf(cert, key, clientCa), () => {
    const tls = { cert: fileOf(cert)!, key: fileOf(key)!, clientCa: fileOf(clientCa) }
    tryContext(contextOf(tls), cert)
    return tls
  })
}

/** Reads the certificates for Redis; undefined when there are none. They are read again when they change. */
export function readRedisTls({ read }: Options, url: string | undefined): FileBacked<RedisTls> | undefined {
  const [ca, cert, key] = [read('redis-ca'), read('redis-cert'), read('redis-key')]
  const hasPair = isPair(cert, key, 'redis')
  const first = [ca, cert].find(({ value }) => value !== undefined)
  if (first === undefined) return undefined
  if (url !== undefined && !url.startsWith('rediss'))
    throw wrongOption(first.from!, first.value, 'it needs a Redis with TLS: rediss://...')
  return new FileBacked(filesOf(ca, cert, key), () => {
    const context = {
      ...(ca.value === undefined ? {} : { ca: fileOf(ca)! }),
      ...(hasPair ? { cert: fileOf(cert)!, key: fileOf(key)! } : {}),
    }
    tryContext(context, first)
    return context
  })
}

/** As Node's servers take it. */
export function contextOf({ cert, key, clientCa }: Tls): SecureContextOptions {
  return { cert, key, ...(clientCa && { ca: clientCa }) }
}

function isPair(cert: Given, key: Given, name: string): boolean {
  if (cert.value === undefined && key.value === undefined) return false
  if (cert.value === undefined) throw wrongOption(key.from!, key.value, `give the certificate too: --${name}-cert FILE`)
  if (key.value === undefined) throw wrongOption(cert.from!, cert.value, `give the private key too: --${name}-key FILE`)
  return true
}

function tryContext(context: SecureContextOptions, { from, value }: Given): void {
  try {
    createSecureContext(context)
  } catch (error) {
    throw wrongOption(from!, value, `certificate and key cannot be used: ${(error as Error).message}`)
  }
}

function filesOf(...given: readonly Given[]): readonly string[] {
  return given.flatMap(({ value }) => value ?? [])
}

function fileOf({ value, from }: Given): Buffer | undefined {
  if (value === undefined) return undefined
  try {
    return readFileSync(value)
  } catch (error) {
    throw wrongOption(from!, value, `give a file that can be read: ${(error as Error).message}`)
  }
}
