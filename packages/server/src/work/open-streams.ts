import { missingPeer, parseDuration } from 'sluice/internal'
import { kafkaSource, kinesisSource, type PipelineSource } from 'sluice/pipeline'
import { namesIn } from './document-steps.ts'
import type { Kind } from './pipeline-document.ts'

/** Reads what `env:NAME` and `file:PATH` stand for. */
type Secret = (written: string) => string

/** `{ kafka: TOPIC, brokers, group, ... }` with the package kafkajs. */
export async function openKafka(kind: Kind, secret: Secret): Promise<PipelineSource> {
  const { kafka: topic, brokers = 'env:KAFKA_BROKERS', group, fromBeginning, sessionTimeout } = kind
  const { Kafka, logLevel } = await import('kafkajs').catch((cause) =>
    Promise.reject(missingPeer('sluice work', 'kafkajs', '2', cause)),
  )
  const { tls, mechanism = 'plain', username, password } = kind as Readonly<Record<string, string | undefined>>
  const sasl = { mechanism, username: secret(username ?? ''), password: secret(password ?? '') } as never
  const kafka = new Kafka({
    clientId: 'sluice',
    brokers: namesIn(brokers).flatMap((each) => secret(each).split(',')),
    // What goes wrong is in the events of the pipeline.
    logLevel: logLevel.NOTHING,
    ...(tls !== undefined && { ssl: Boolean(tls) }),
    ...(username !== undefined && { sasl }),
  })
  return kafkaSource(kafka, {
    topic: namesIn(topic),
    group: group as string,
    ...(fromBeginning !== undefined && { fromBeginning: fromBeginning as boolean }),
    ...(sessionTimeout !== undefined && {
      consumer: sessionOf(parseDuration(sessionTimeout as string, 'sessionTimeout')),
    }),
  })
}

const sessionOf = (sessionTimeout: number): Record<string, number> => ({
  sessionTimeout,
  heartbeatInterval: Math.ceil(sessionTimeout / 10),
})

/** `{ kinesis: STREAM, region }` with the package @aws-sdk/client-kinesis. */
export async function openKinesis(kind: Kind): Promise<PipelineSource> {
  const { kinesis: stream, region } = kind as Readonly<Record<string, string | undefined>>
  const { Kinesis } = await import('@aws-sdk/client-kinesis').catch((cause) =>
    Promise.reject(missingPeer('sluice work', '@aws-sdk/client-kinesis', '3', cause)),
  )
  const client = new Kinesis(region === undefined ? {} : { region })
  const source = kinesisSource(client, { stream: stream! })
  return { ...source, close: async () => client.destroy() }
}
