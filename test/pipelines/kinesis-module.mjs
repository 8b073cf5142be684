// A source for `use`: the stream at KINESIS_ENDPOINT.
import { Kinesis } from '@aws-sdk/client-kinesis'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import { kinesisSource } from 'sluice/pipeline'

const client = new Kinesis({
  endpoint: process.env.KINESIS_ENDPOINT,
  region: 'eu-west-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  requestHandler: new NodeHttpHandler({}),
})

export default { ...kinesisSource(client, { stream: 'rows' }), close: async () => client.destroy() }
