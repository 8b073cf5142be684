import type koffi from 'koffi'

type Library = ReturnType<typeof koffi.load>

/** A Kafka cluster of the test's own: three brokers in memory, in threads of this process. */
export interface KafkaCluster {
  readonly brokers: readonly string[]
  createTopic(topic: string, partitions: number): void
  /** Undefined with a real broker, which is not ours to break. */
  readonly faults:
    | {
        down(broker: 1 | 2 | 3): void
        up(broker: 1 | 2 | 3): void
        /** Every answer of the broker takes so long. */
        slow(broker: 1 | 2 | 3, ms: number): void
        /** The next requests of this kind are answered with these errors. */
        fail(request: keyof typeof requests, ...answers: (keyof typeof errors)[]): void
      }
    | undefined
  stop(): void
}

const requests = { fetch: 1, commit: 8, join: 11, heartbeat: 12, sync: 14 } as const
const errors = {
  notLeader: 6,
  coordinatorGone: 16,
  illegalGeneration: 22,
  unknownMember: 25,
  rebalanceInProgress: 27,
  notAuthorized: 30,
  invalidRequest: 42,
} as const

/**
 * Starts the cluster that librdkafka has for tests; or uses the brokers that KAFKA_BROKERS names, which create topics
 * by themselves. A text says why there is none.
 */
export async function startKafka(): Promise<KafkaCluster | string> {
  const external = process.env.KAFKA_BROKERS
  if (external)
    return { brokers: external.split(','), createTopic: () => undefined, faults: undefined, stop: () => undefined }
  const lib = await loadLibrary()
  return typeof lib === 'string' ? lib : mockCluster(lib)
}

async function loadLibrary(): Promise<Library | string> {
  try {
    const { default: koffi } = await import('koffi')
    return koffi.load(process.platform === 'darwin' ? 'librdkafka.1.dylib' : 'librdkafka.so.1')
  } catch (error) {
    return `no librdkafka: run \`npm run setup\`, install librdkafka1, or set KAFKA_BROKERS (${(error as Error).message})`
  }
}

function mockCluster(lib: Library): KafkaCluster {
  const call = (signature: string, ...args: unknown[]): unknown => lib.func(signature)(...args)
  const conf = call('void *rd_kafka_conf_new()')
  const client = call(
    'void *rd_kafka_new(int type, void *conf, char *error, size_t n)',
    0,
    conf,
    Buffer.alloc(512),
    512,
  )
  const cluster = call('void *rd_kafka_mock_cluster_new(void *client, int brokers)', client, 3)
  const brokers = call('const char *rd_kafka_mock_cluster_bootstraps(void *cluster)', cluster) as string
  return {
    brokers: brokers.split(','),
    createTopic(topic, partitions) {
      call(
        'int rd_kafka_mock_topic_create(void *c, const char *topic, int parts, int copies)',
        cluster,
        topic,
        partitions,
        1,
      )
    },
    faults: {
      down: (broker) => void call('int rd_kafka_mock_broker_set_down(void *c, int32_t id)', cluster, broker),
      up: (broker) => void call('int rd_kafka_mock_broker_set_up(void *c, int32_t id)', cluster, broker),
      slow: (broker, ms) =>
        void call('int rd_kafka_mock_broker_set_rtt(void *c, int32_t id, int ms)', cluster, broker, ms),
      fail(request, ...names) {
        const signature = 'int rd_kafka_mock_push_request_errors_array(void *c, int16_t key, size_t n, int32_t *errors)'
        const codes = names.map((name) => errors[name])
        call(signature, cluster, requests[request], codes.length, codes)
      },
    },
    stop() {
      call('void rd_kafka_mock_cluster_destroy(void *c)', cluster)
      call('void rd_kafka_destroy(void *client)', client)
    },
  }
}
