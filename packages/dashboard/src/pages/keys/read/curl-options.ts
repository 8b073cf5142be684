const listed = (text: string): readonly string[] => text.trim().split(/\s+/)

/** The letters of options that change the request, with their names. */
export const shortNames: Readonly<Record<string, string>> = {
  ...{ X: 'request', H: 'header', d: 'data', G: 'get', u: 'user', A: 'user-agent', b: 'cookie', e: 'referer' },
  ...{ I: 'head', F: 'form', T: 'upload-file', r: 'range' },
}

/** Options that take a value and do not change the request as rules see it. */
export const ignoredWithValue: ReadonlySet<string> = new Set(
  listed(`output max-time write-out proxy cookie-jar cert key cacert capath connect-timeout retry retry-delay retry-max-time
  resolve connect-to interface max-redirs limit-rate dump-header config continue-at speed-limit speed-time time-cond
  proxy-user quote telnet-option ftp-port ciphers tls-max cert-type key-type pass pinnedpubkey dns-servers local-port
  keepalive-time max-filesize unix-socket noproxy trace trace-ascii stderr output-dir rate proto proto-redir
  expect100-timeout happy-eyeballs-timeout-ms parallel-max variable aws-sigv4 curves proxy-header crlfile
  o m w x c E K D C Y y z U Q t P h`),
)
