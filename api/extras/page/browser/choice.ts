/** The pairs to choose from: in the search field, and in the table of all pairs. */
import type { TokenFile } from '../tokens.ts'
import type { QueryApi } from './lib/client.ts'
import { openOverview } from './market/overview.ts'
import { openPicker, type Picker } from './market/picker.ts'
import { type Offers, openOffers } from './offers.ts'

export type Choice = Pick<Picker, 'show'> & Pick<Offers, 'firstPair'>

export function openChoice(on: {
  /** Undefined without a key. */
  ask(): QueryApi | undefined
  /** Aborts where the key is left. */
  signal(): AbortSignal
  tokens: TokenFile
  note(text: string): void
  pair(pair: string): void
  pool(id: string, network?: string): void
}): Choice {
  const renew = () => offers.renew(on.signal())
  const picker = openPicker({
    pair: on.pair,
    pool: on.pool,
    open: renew,
    token: (token) => offers.pairsOf({ token }, on.signal()).catch(() => []),
  })
  const overview = openOverview({
    choose: ({ pair, pool }) => (pool === undefined ? on.pair(pair) : on.pool(pool.id, pool.network)),
    renew,
  })
  const offers = openOffers({
    ask: on.ask,
    tokens: on.tokens,
    note: on.note,
    offer(suggestions, newest) {
      picker.offer(suggestions)
      overview.offer(suggestions, newest)
    },
  })
  return { show: (pair) => picker.show(pair), firstPair: offers.firstPair }
}
