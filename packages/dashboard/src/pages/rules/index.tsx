import type { PageProps } from '../../hooks/router.ts'
import { RuleDetail } from './rule-detail.tsx'
import { RuleList } from './rule-list.tsx'
import './rules.css'

/** `#/rules`: all rules; `#/rules/NAME`: one. */
export default function Rules({ route }: PageProps) {
  const [, name] = route.path
  return name === undefined ? <RuleList /> : <RuleDetail key={name} name={name} />
}
