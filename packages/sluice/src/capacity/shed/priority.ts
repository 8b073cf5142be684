/** From the one that is shed last to the one that is shed first. */
export const priorities = ['critical', 'normal', 'bulk'] as const
export type Priority = (typeof priorities)[number]
