/** The exchanges whose pools are read: Uniswap always, the others where `VENUES` names them. */
export const VENUE_NAMES = ['uniswap', 'sushi', 'pancake', 'slipstream', 'algebra'] as const
export type VenueName = (typeof VENUE_NAMES)[number]

/** A pool's field `venue`, which Uniswap's pools do not have. */
export function venueField(venue: VenueName | undefined): { venue?: VenueName } {
  return venue && venue !== 'uniswap' ? { venue } : {}
}

/** The venue of a pool, by the same field. */
export function venueOf({ venue = 'uniswap' }: { venue?: VenueName }): VenueName {
  return venue
}
