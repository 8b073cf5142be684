import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Policy } from '../../api/shapes.ts'
import { useApi } from '../../api/use-api.ts'
import { EmptyState, ErrorState, Loading } from '../../components/states.tsx'
import type { PageProps } from '../../hooks/router.ts'
import { goTo, linkTo } from '../../hooks/router.ts'
import { contextOf } from './assumed.tsx'
import { BusyKeys } from './busy-keys.tsx'
import { Explained } from './explained.tsx'
import { KeyDetail } from './key-detail.tsx'
import { type Input, readInput } from './read/read-input.ts'
import { forLink, secretHeaders } from './read/request.ts'
import '../../styles/operate.css'
import './keys.css'

/** Type a key or paste a request, and see which rules apply, why, and when it would pass. */
export default function Keys({ route }: PageProps) {
  const { key: linked, request: linkedRequest, ip = '', context = '', tier = '' } = route.query
  const assumed = { ip, context, tier }
  const policy = useApi<Policy>('/v1/policy')
  const [text, setText] = useState(linked ?? linkedRequest ?? '')
  // The current subject; a request with its secrets is only here, and the address has it without them.
  const [asked, setAsked] = useState(text)
  useEffect(() => {
    const next = linked ?? linkedRequest ?? ''
    if (linkOf(readInput(asked, policy.data?.service), assumed) === linkTo(['keys'], route.query)) return
    setText(next)
    setAsked(next)
  }, [linked, linkedRequest])
  const service = policy.data?.service
  const input = useMemo(() => readInput(asked, service), [asked, service])
  const show = (next: string): void => {
    setText(next)
    setAsked(next)
    goTo(linkOf(readInput(next, service), assumed))
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
      {policy.data && <Shown input={input} policy={policy.data} assumed={assumed} />}
    </>
  )
}

interface Assumption {
  readonly ip: string
  readonly context: string
  readonly tier: string
}

function Shown(props: { readonly input: Input; readonly policy: Policy; readonly assumed: Assumption }) {
  const { input, policy } = props
  const { ip, context, tier } = props.assumed
  switch (input.kind) {
    case 'nothing':
      return (
        <>
          <Nothing service={policy.service} rule={policy.rules[0]} />
          <BusyKeys />
        </>
      )
    case 'wrong':
      return <EmptyState title="That is neither a key nor a request" text={input.message} />
    case 'full-key':
      return <KeyDetail readable={input.key} tier={tier} />
    case 'key':
      return (
        <Explained body={{ key: input.key, ...(tier === '' ? {} : { tier }) }} what={keyText(input.key)} notes={[]} />
      )
    case 'request': {
      const hidden = secretHeaders(input.request)
      const notes = [
        ...input.notes,
        ...(hidden.length > 0 ? [`The address of this page leaves out ${hidden.join(', ')}.`] : []),
      ]
      const given = contextOf(context)
      const request = {
        ...input.request,
        ...(ip === '' ? {} : { ip }),
        ...(given === undefined ? {} : { context: given }),
      }
      const what = `${input.request.method} ${input.request.path}, read from ${input.from}`
      return <Explained body={{ request }} what={what} notes={notes} />
    }
  }
}

const keyText = (key: string | readonly unknown[]): string =>
  typeof key === 'string' ? `the key ${key}` : `the key of ${key.length} parts ${key.join(' / ')}`

function linkOf(input: Input, { ip, context, tier }: Assumption): string {
  if (input.kind === 'full-key') return linkTo(['keys'], { key: input.key, tier })
  if (input.kind === 'key')
    return linkTo(['keys'], { key: typeof input.key === 'string' ? input.key : JSON.stringify(input.key), tier })
  if (input.kind === 'request')
    return linkTo(['keys'], { request: JSON.stringify(forLink(input.request)), ip, context })
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
