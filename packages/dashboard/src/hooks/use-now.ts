import { useEffect, useState } from 'preact/hooks'

/** The current time, updated each second. */
export function useNow(): number {
  const [nowMs, setNowMs] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return nowMs
}
