/** The pairs to choose from: in the search field, and in the table of all pairs. */
import type { TokenFile } from '../tokens.ts'
import { openOverview } from './market/overview.ts'
import { openPicker, type Picker } from './market/picker.ts'
import { type OfferSource, type Offers, openOffers } from './offers.ts'

export type Choice = Pick<Picker, 'show'> & Pick<Offers, 'firstPair'>

export function openChoice(on: {
  /** Undefined without a key. */
  source(): OfferSource | undefined
  /** Aborts where the key is left. */
  signal(): AbortSignal
  tokens: TokenFile
  note(text: string): void
  pair(pair: string): void
  pool(id: string, network?: string): void
}): Choice {
  const picker = openPicker({
    pair: on.pair,
    pool: on.pool,
    open: () => offers.renew('pairs', on.signal()),
    token: (token) => offers.poolsOf(token, on.signal()).catch(() => []),
  })
  const overview = openOverview({
    choose: ({ pair, pool }) => (pool === undefined ? on.pair(pair) : on.pool(pool.id, pool.network)),
    open: () => offers.renew('all', on.signal()),
    keep: () => offers.keep(on.signal()),
  })
  const offers = openOffers({
    source: on.source,
    tokens: on.tokens,
    note: on.note,
    offer(suggestions, newest) {
      picker.offer(suggestions)
      overview.offer(suggestions, newest)
    },
  })
  return { show: (pair) => picker.show(pair), firstPair: offers.firstPair }
}
