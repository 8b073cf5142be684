import { storeOptions } from '../config/daemon-options.ts'
import type { OptionTable } from '../config/read-options.ts'

/** Options that every command has. */
export const globalOptions: OptionTable = {
  json: { about: 'print the result as JSON; see docs/cli.md for the shapes' },
  color: { about: 'colour the output; --no-color does not (by default only on a terminal and without NO_COLOR)' },
  help: { short: 'h', about: 'print this help' },
}

/** Which daemon to ask. */
export const daemonOptions: OptionTable = {
  url: { value: 'URL', env: ['SLUICE_URL'], about: 'ask a daemon', default: 'http://127.0.0.1:8440' },
  'token-file': {
    value: 'FILE',
    env: ['SLUICE_ADMIN_TOKEN_FILE'],
    about: 'a file with the admin token of the daemon; SLUICE_ADMIN_TOKEN holds the token itself',
  },
  timeout: { value: 'TIME', env: ['SLUICE_TIMEOUT'], about: 'how long to wait for an answer', default: '5s' },
}

/** Either a daemon, or the store itself. */
export const targetOptions: OptionTable = { ...daemonOptions, ...storeOptions }

/** A request to match against rules. */
export const requestOptions: OptionTable = {
  method: { value: 'METHOD', short: 'X', about: 'the method of the request', default: 'GET' },
  path: { value: 'PATH', about: 'the path of the request, with its query if there is one' },
  header: { value: 'NAME:VALUE', short: 'H', many: true, about: 'a header of the request; can be given again' },
  body: {
    value: 'JSON',
    short: 'd',
    about: 'the body of the request; @FILE reads it from a file, @- from standard input',
  },
  ip: { value: 'ADDRESS', about: 'the address the request comes from' },
  context: {
    value: 'PATH=VALUE',
    many: true,
    about: 'what the service says of it, such as user.plan=pro; can be given again',
  },
}

export const ruleOption: OptionTable = {
  rule: { value: 'NAME', about: 'the rule; KEY is then only the parts of the key: client-corp/en' },
}

/** The short forms of limits. */
export const overrideLimits: OptionTable = {
  rps: { value: 'N', about: 'so many a second' },
  rpm: { value: 'N', about: 'so many a minute' },
  rph: { value: 'N', about: 'so many an hour' },
  rpd: { value: 'N', about: 'so many a day' },
}

export const topOptions: OptionTable = {
  interval: { value: 'TIME', short: 'n', about: 'how often to look', default: '1s' },
  count: { value: 'N', about: 'look so many times, then end; without it until interrupted' },
  rule: { value: 'NAME', about: 'only the keys of this rule' },
  sort: { value: 'BY', about: 'what comes first', choices: ['used', 'denied'], default: 'used' },
}
