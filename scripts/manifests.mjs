// Writes deploy/kubernetes from the Helm chart in deploy/helm: one file for each tier, and one for what they all mount.
import { writeFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { findHelm } from './helm.mjs'
import { run } from './machine.mjs'

const chart = fileURLToPath(new URL('../deploy/helm', import.meta.url))
const folder = new URL('../deploy/kubernetes/', import.meta.url)
const head = '# Written by scripts/manifests.mjs from deploy/helm. Change that, or keep your changes in an overlay.\n'
/** The tiers of the chart. */
export const tiers = ['serve', 'proxy', 'collect', 'work', 'load']
// The oldest version that the chart allows.
const cluster = ['--kube-version', '1.23.0']

/** What `helm template` prints for a release of the chart; throws what it says is wrong. */
export function renderChart(helm, release, ...args) {
  const { ok, output, stdout } = run(helm, ['template', release, chart, ...cluster, ...args])
  if (!ok) throw new Error(output)
  return stdout
}

/** By name: the text of each file of deploy/kubernetes that comes from the chart. */
export function renderManifests(helm) {
  const onlyTier = (tier) => tiers.map((name) => `tiers.${name}.enabled=${name === tier}`).join(',')
  const ofTier = (tier) => renderChart(helm, 'sluice', '--show-only', 'templates/tiers.yaml', '--set', onlyTier(tier))
  const files = renderChart(helm, 'sluice', '--show-only', 'templates/files.yaml')
  return new Map(
    [['files', files], ...tiers.map((tier) => [tier, ofTier(tier)])].map(([name, text]) => [
      `${name}.yaml`,
      head + text.replace(/^# Source: .*\n/gm, ''),
    ]),
  )
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const helm = findHelm()
  if (helm === undefined) throw new Error('there is no helm; npm run setup fetches it')
  for (const [name, text] of renderManifests(helm)) writeFileSync(new URL(name, folder), text)
}
