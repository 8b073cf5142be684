import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Policy } from '../../api/shapes.ts'
import { useApi } from '../../api/use-api.ts'
import { EmptyState, ErrorState, Loading } from '../../components/states.tsx'
import type { PageProps } from '../../hooks/router.ts'
import { goTo, linkTo } from '../../hooks/router.ts'
import { Explained } from './explained.tsx'
import { KeyDetail } from './key-detail.tsx'
import { type Input, readInput } from './read/read-input.ts'
import { forLink, secretHeaders } from './read/request.ts'
import '../../styles/operate.css'
import './keys.css'

/** Type a key or paste a request, and see which rules apply, why, and when it would pass. */
export default function Keys({ route }: PageProps) {
  const { key: linked, request: linkedRequest, ip = '' } = route.query
  const policy = useApi<Policy>('/v1/policy')
  const [text, setText] = useState(linked ?? linkedRequest ?? '')
  // The current subject; a request with its secrets is only here, and the address has it without them.
  const [asked, setAsked] = useState(text)
  useEffect(() => {
    const next = linked ?? linkedRequest ?? ''
    if (linkOf(readInput(asked, policy.data?.service), ip) === linkTo(['keys'], route.query)) return
    setText(next)
    setAsked(next)
  }, [linked, linkedRequest])
  const service = policy.data?.service
  const input = useMemo(() => readInput(asked, service), [asked, service])
  const show = (next: string): void => {
    setText(next)
    setAsked(next)
    goTo(linkOf(readInput(next, service), ip))
  }
  const isLong = text.includes('\n') || text.length > 80
  return (
    <>
      <h1 class="page-title">Keys</h1>
      <form
        class="panel ask"
        onSubmit={(event) => {
          event.preventDefault()
          show(text)
        }}
      >
        <label for="ask">A key, a request, or a curl command</label>
        <div class="ask-row">
          <textarea
            id="ask"
            class="input mono"
            rows={isLong ? 7 : 1}
            placeholder="acme"
            spellcheck={false}
            autocapitalize="off"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey || (isLong && !event.ctrlKey && !event.metaKey)) return
              event.preventDefault()
              show(text)
            }}
          />
          <button class="button button-primary" type="submit">
            Explain
          </button>
        </div>
        <p class="soft small">{isLong ? 'Ctrl+Enter explains. ' : ''}Nothing is spent, sent to the service, or run.</p>
      </form>
      {policy.error && <ErrorState error={policy.error} retry={policy.reload} />}
      {policy.data === undefined && policy.error === undefined && <Loading />}
      {policy.data && <Shown input={input} policy={policy.data} ip={ip} />}
    </>
  )
}

function Shown({ input, policy, ip }: { readonly input: Input; readonly policy: Policy; readonly ip: string }) {
  switch (input.kind) {
    case 'nothing':
      return <Nothing service={policy.service} rule={policy.rules[0]} />
    case 'wrong':
      return <EmptyState title="That is neither a key nor a request" text={input.message} />
    case 'full-key':
      return <KeyDetail readable={input.key} />
    case 'key':
      return <Explained body={{ key: input.key }} what={keyText(input.key)} notes={[]} />
    case 'request': {
      const hidden = secretHeaders(input.request)
      const notes = [
        ...input.notes,
        ...(hidden.length > 0 ? [`The address of this page leaves out ${hidden.join(', ')}.`] : []),
      ]
      const request = ip === '' ? input.request : { ...input.request, ip }
      const what = `${input.request.method} ${input.request.path}, read from ${input.from}`
      return <Explained body={{ request }} what={what} notes={notes} ip={ip} />
    }
  }
}

const keyText = (key: string | readonly unknown[]): string =>
  typeof key === 'string' ? `the key ${key}` : `the key of ${key.length} parts ${key.join(' / ')}`

function linkOf(input: Input, ip: string): string {
  if (input.kind === 'full-key') return linkTo(['keys'], { key: input.key })
  if (input.kind === 'key')
    return linkTo(['keys'], { key: typeof input.key === 'string' ? input.key : JSON.stringify(input.key) })
  if (input.kind === 'request') return linkTo(['keys'], { request: JSON.stringify(forLink(input.request)), ip })
  return linkTo(['keys'])
}

function Nothing({ service, rule = 'rule' }: { readonly service: string; readonly rule: string | undefined }) {
  return (
    <EmptyState title="Whose requests are you looking for?">
      <ul class="examples">
        <li>
          a key, as <code>acme</code>, of several parts as <code>acme / en</code>
        </li>
        <li>
          one bucket in full, as <code>{`${service}/${rule}/acme`}</code>
        </li>
        <li>
          a request, as <code>curl -H 'x-tenant: acme' https://…</code> or as plain HTTP
        </li>
      </ul>
    </EmptyState>
  )
}
