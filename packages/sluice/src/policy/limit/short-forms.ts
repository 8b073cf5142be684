/** Limits that are written as one number, such as `rpm: 100`, in rules and upstreams alike. */
export const shortForms = [
  { name: 'rps', per: '1s' },
  { name: 'rpm', per: '1m' },
  { name: 'rph', per: '1h' },
  { name: 'rpd', per: '1d' },
] as const
