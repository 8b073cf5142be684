// The worker of docs/start/fetch.md, with a smaller limit.
import { rateLimit } from 'sluice/fetch'

export default {
  fetch: rateLimit({ limits: { rpm: 2 } }, () => new Response('hello'), {
    remoteAddress: (request) => request.headers.get('cf-connecting-ip') ?? undefined,
  }),
}
