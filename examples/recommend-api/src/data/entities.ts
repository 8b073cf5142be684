import { z } from 'zod'

/** What PostgreSQL can store: no zero character, and no half of a pair. */
export const text = z.string().refine((value) => !value.includes('\0') && !/\p{Cs}/u.test(value), 'use another text')

/** A part of a key. */
export const name = text.min(1).max(200)

/** What a tenant manages. Of each kind, only active ones are loaded, those with the highest priority first. */
const offer = z
  .strictObject({
    category: text.default('general'),
    /** Scores the offer, together with the others of the same model. */
    model: text.default('default'),
    mandatory: z.boolean().default(false),
    /** Spread over the day by the rule `campaign`. */
    paced: z.boolean().default(false),
    /** One is shown: the one with the greatest weight that the placement has room for. */
    creatives: z
      .array(z.strictObject({ id: text, weight: z.number().min(0), placements: z.array(text) }))
      .min(1)
      .default([{ id: 'default', weight: 1, placements: ['web'] }]),
  })
  .refine(({ mandatory, paced }) => !(mandatory && paced), 'a mandatory offer cannot be held back: leave out paced')

/** Which offers a rule or policy is about. Left out: all of them. */
const about = { offers: z.array(text).optional(), categories: z.array(text).optional() }

/** The first rule about an offer whose field has one of the values says how well it fits; 0 is not at all. */
const rule = z.strictObject({ ...about, field: text, values: z.array(text), fit: z.number().min(0).max(1) })

/** The first policy about an offer and a customer says whether the customer may be contacted with it. */
const contactPolicy = z.strictObject({ ...about, customers: z.array(text).optional(), allow: z.boolean() })

/** Takes offers out at once. */
const guardrail = z.strictObject(about)

export const kinds = { offers: offer, rules: rule, 'contact-policies': contactPolicy, guardrails: guardrail } as const
export type Kind = keyof typeof kinds
export type Entity<K extends Kind> = z.infer<(typeof kinds)[K]> & { readonly id: string; readonly priority: number }
export type Offer = Entity<'offers'>

/** What a tenant sends to create or replace one. */
export function parseEntity(kind: Kind, body: unknown): { priority: number; active: boolean; body: object } {
  const { priority, active, ...rest } = z.looseObject(common).parse(body ?? {})
  return { priority, active, body: kinds[kind].parse(rest) }
}
const common = { priority: z.int32().default(0), active: z.boolean().default(true) }
