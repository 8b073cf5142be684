import type { TakeOptions } from 'sluice'

type Given = { readonly [Name in keyof TakeOptions]?: TakeOptions[Name] | undefined }

/** What was given beside a key, as options of the limiter, which takes no option that is undefined. */
export function optionsOf({ rule, tier, class: of, cost }: Given): TakeOptions {
  return {
    ...(rule === undefined ? {} : { rule }),
    ...(tier === undefined ? {} : { tier }),
    ...(of === undefined ? {} : { class: of }),
    ...(cost === undefined ? {} : { cost }),
  }
}
