// The page of the daemon. Everything from the daemon is put in as text, never as markup: keys come from strangers.
const byId = (id) => document.getElementById(id)
const maxEvents = 30
const given = /^#token=(.+)$/.exec(location.hash)?.[1]
if (given !== undefined) {
  sessionStorage.setItem('token', given)
  // The token does not stay in the address, where it could be copied by mistake.
  history.replaceState(null, '', location.pathname)
}
let token = sessionStorage.getItem('token') ?? ''

const ask = (path, options = {}) =>
  fetch(path, { ...options, headers: token === '' ? {} : { authorization: `Bearer ${token}` } })

async function refresh() {
  const response = await ask('/v1/stats?top=1')
  if (response.status === 401) {
    byId('login').hidden = false
    byId('live').hidden = true
    byId('state').textContent = 'The admin token is needed.'
    return false
  }
  if (!response.ok) {
    const problem = await response.json().catch(() => ({}))
    byId('state').textContent = problem.detail ?? `HTTP ${response.status}`
    return false
  }
  show(await response.json())
  return true
}

function show(stats) {
  byId('login').hidden = true
  byId('live').hidden = false
  const store = stats.store.ok ? stats.store.name : `${stats.store.name}, degraded (breaker ${stats.store.breaker})`
  byId('state').textContent =
    `${stats.service} · ${stats.replicas.length} process${stats.replicas.length === 1 ? '' : 'es'} · policy ${stats.policy.version} from ${stats.policy.source} · store: ${store}`
  byId('rules').replaceChildren(...stats.rules.map(rowOf))
  draw(stats.recent)
}

function rowOf(rule) {
  const row = document.createElement('tr')
  const cells = [
    rule.rule,
    rule.allowed,
    rule.denied,
    rule.degraded,
    keyText(rule.hottest[0]),
    keyText(rule.mostDenied[0]),
  ]
  for (const text of cells) {
    const cell = document.createElement('td')
    cell.textContent = text
    row.append(cell)
  }
  return row
}

const keyText = (hot) => (hot === undefined ? '' : `${hot.key} (${hot.count})`)

function draw(recent) {
  const most = Math.max(1, ...recent.map(({ allowed, denied }) => allowed + denied))
  const bars = recent.flatMap(({ allowed, denied }, i) => {
    const high = (allowed * 120) / most
    const top = (denied * 120) / most
    return [bar('allowed', i, 120 - high, high), bar('denied', i, 120 - high - top, top)]
  })
  byId('chart').replaceChildren(...bars)
}

function bar(kind, i, y, height) {
  const rect = document.createElementNS('http://www.w3.org/2000/svg', 'rect')
  rect.setAttribute('class', kind)
  for (const [name, value] of Object.entries({ x: i * 10, y, width: 9, height })) rect.setAttribute(name, value)
  return rect
}

function tell(name, data) {
  if (name === 'tick') return
  const item = document.createElement('li')
  item.textContent = `${new Date().toLocaleTimeString()} ${name} ${data}`
  byId('events').prepend(item)
  while (byId('events').children.length > maxEvents) byId('events').lastChild.remove()
}

/** EventSource cannot send a token, so the stream is read by hand. */
async function follow() {
  const response = await ask('/v1/events')
  if (!response.ok) return
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const blocks = (rest + value).split('\n\n')
    rest = blocks.pop()
    for (const block of blocks) {
      const name = /^event: (.*)$/m.exec(block)?.[1]
      if (name !== undefined) tell(name, /^data: (.*)$/m.exec(block)?.[1] ?? '')
    }
  }
}

async function run() {
  try {
    if (await refresh()) {
      const timer = setInterval(() => refresh().catch(() => {}), 1000)
      await follow().finally(() => clearInterval(timer))
    } else if (!byId('login').hidden) return
  } catch {
    byId('state').textContent = 'The daemon does not answer.'
  }
  setTimeout(run, 2000)
}

byId('login').addEventListener('submit', (event) => {
  event.preventDefault()
  token = byId('token').value
  sessionStorage.setItem('token', token)
  run()
})

run()
