import { admin, answer, body, get, malformed, type Part, wrong } from './operations.ts'

/** The routes of what processes report, and of what operators have them do. */
export const reportPaths: Part = {
  '/v1/parts/{replica}/actions': {
    post: admin(
      'partAction',
      'Has a part of a process do something, if the process allows it',
      {
        202: answer('The process takes it with its next report, within ten seconds or not at all.', 'Ordered'),
        404: wrong('No such process reports to Redis, or it has no such part.'),
        409: wrong('The part does not offer it, there is no Redis, or too many wait for the process.'),
        503: wrong('Redis could not be asked.'),
        ...malformed,
      },
      {
        requestBody: body('PartAction'),
        parameters: [{ name: 'replica', in: 'path', required: true, schema: { type: 'string' } }],
      },
    ),
  },
  '/v1/reports': {
    post: {
      ...get(
        'report',
        'Takes how the parts of a process stand, for fleets without Redis; forgotten after ten seconds',
        {
          200: answer('It is kept.', 'Received'),
          401: wrong('The token is missing or wrong; the one for deciding will do.'),
          403: wrong('Asked by a page of another site.'),
          503: wrong('Too many processes report.'),
          ...malformed,
        },
        { requestBody: body('Report') },
      ),
      security: [{ adminToken: [] }],
    },
  },
  '/v1/reports/{service}/{replica}': {
    delete: {
      ...get(
        'removeReport',
        'Takes a report back, when its process ends',
        {
          200: answer('It is gone.', 'Removed'),
          400: wrong('A parameter is unknown.'),
          401: wrong('The token is missing or wrong.'),
          403: wrong('Asked by a page of another site.'),
        },
        {
          parameters: ['service', 'replica'].map((name) => ({
            name,
            in: 'path',
            required: true,
            schema: { type: 'string' },
          })),
        },
      ),
      security: [{ adminToken: [] }],
    },
  },
}
