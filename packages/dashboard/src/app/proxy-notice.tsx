import { person } from '../api/session.ts'
import { Notice } from '../components/notice.tsx'
import { useValue } from '../hooks/value.ts'
import { live } from '../live/live.ts'
import '../styles/operate.css'

/** What a proxy in front of the daemon should do and does not, with the line for nginx. */
export function ProxyNotice() {
  const isHeld = useValue(live.connection) === 'held'
  const { secure } = useValue(person)
  return (
    <>
      {isHeld && (
        <Notice kind="warn" live>
          The daemon answers, but its live data does not arrive: a proxy in front holds it back. Let it pass on what
          comes at once; for nginx: <code>proxy_buffering off;</code>
        </Notice>
      )}
      {location.protocol === 'https:' && !secure && (
        <Notice kind="warn">
          The proxy in front does not say that it has TLS, so the browser would also send your session without it. For
          nginx: <code>proxy_set_header X-Forwarded-Proto $scheme;</code>
        </Notice>
      )}
    </>
  )
}
