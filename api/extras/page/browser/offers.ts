/// <reference lib="dom" />
/** The pairs that the picker suggests, read again while the page is open. */
import type { TokenFile } from '../tokens.ts'
import { showState } from './account/account.ts'
import { persist } from './account/persist.ts'
import type { Bodies, QueryApi } from './lib/client.ts'
import { pause } from './lib/wait.ts'
import { type NewSuggestion, newSuggestionsOf, type Suggestion, suggestionsOf } from './market/suggestions.ts'

export type Offers = {
  pairsOf(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<readonly Suggestion[]>
  /** Reads the list again where it is old. An older one is better than none. */
  renew(signal: AbortSignal): void
  /** The pair with most volume. An empty store is polled until it has one, at no cost. */
  firstPair(signal: AbortSignal): Promise<string>
}

export const NOT_YET = 'Nothing is loaded yet. It follows by itself.'
const OFFER_FRESH_MS = 60_000
const EMPTY_STORE_MS = 5_000

export function openOffers(options: {
  /** Undefined without a key. */
  ask(): QueryApi | undefined
  tokens: TokenFile
  offer(suggestions: readonly Suggestion[], newest: readonly NewSuggestion[]): void
  note(text: string): void
}): Offers {
  const { ask, tokens, offer, note } = options
  let suggestions: readonly Suggestion[] = []
  let offeredAt = Number.NEGATIVE_INFINITY

  async function askPairs(query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Bodies['pairs']> {
    const answer = await ask()?.('pairs', query, signal)
    return answer?.body ?? { data: [] }
  }

  async function read(signal: AbortSignal): Promise<void> {
    const { data, newest = [] } = await askPairs({}, signal)
    suggestions = suggestionsOf(data, tokens.tokens)
    offeredAt = performance.now()
    offer(suggestions, newSuggestionsOf(newest, tokens.tokens))
  }

  return {
    pairsOf: async (query, signal) => suggestionsOf((await askPairs(query, signal)).data, tokens.tokens),
    renew(signal) {
      if (performance.now() - offeredAt > OFFER_FRESH_MS) read(signal).catch(() => undefined)
    },
    async firstPair(signal) {
      for (;;) {
        await persist(
          () => read(signal),
          signal,
          () => note(NOT_YET),
        )
        const [first] = suggestions
        if (first !== undefined) return first.pair
        note('No pool is stored here yet. The page looks again every few seconds.')
        showState('waiting', new Date(Date.now() + EMPTY_STORE_MS))
        await pause(EMPTY_STORE_MS, signal)
      }
    },
  }
}
