import type { Report } from '../document/policy-error.ts'
import type { UpstreamSpec } from '../document/upstream-spec.ts'
import { compileUpstream } from './compile-upstream.ts'
import type { CompiledUpstream } from './upstream.ts'

/** Makes all upstreams of a policy ready; names and addresses must be unique. */
export function compileUpstreams(specs: readonly UpstreamSpec[], report: Report): readonly CompiledUpstream[] {
  const upstreams = specs.map((spec, index) => compileUpstream(spec, `upstreams[${index}]`, report))
  for (const [index, { name, origin, pathPrefix }] of upstreams.entries()) {
    const before = upstreams.slice(0, index)
    if (before.some((other) => other.name === name))
      report(`upstreams[${index}].name`, name, 'another upstream has this name; give it its own')
    if (origin !== '' && before.some((other) => other.origin === origin && other.pathPrefix === pathPrefix))
      report(`upstreams[${index}].origin`, specs[index]!.origin, 'another upstream has this address; merge the two')
  }
  return upstreams
}
