/// <reference lib="dom" />
/** The pairs that the picker suggests, read again while the page is open. */
import type { TokenFile } from '../tokens.ts'
import { showState } from './account/account.ts'
import type { CreditBudget } from './account/credit-budget.ts'
import { persist } from './account/persist.ts'
import type { QueryApi } from './lib/client.ts'
import { Refusal } from './lib/refusal.ts'
import { pause } from './lib/wait.ts'
import { type NewSuggestion, newSuggestionsOf, type Suggestion, suggestionsOf } from './market/suggestions.ts'

export type Offers = {
  /** The pools of one token. */
  poolsOf(token: string, signal: AbortSignal): Promise<readonly Suggestion[]>
  /** Reads the pairs again where they are old, or the new pools too. An older list is better than none. */
  renew(what: 'pairs' | 'all', signal: AbortSignal): void
  /** The same by itself, as rarely as the credits allow. */
  keep(signal: AbortSignal): void
  /** The pair with most volume. An empty store is polled until it has one. */
  firstPair(signal: AbortSignal): Promise<string>
}

export type OfferSource = {
  ask: QueryApi
  budget: Pick<CreditBudget, 'pauseMs' | 'spend'>
}

export const NOT_YET = 'Nothing is loaded yet. It follows by itself.'
const FRESH_MS = 60_000
/** Without a request of the reader: at the earliest; where credits are few, once in so many credits. */
const KEEP_EVERY = { ms: FRESH_MS, credits: 20 } as const
const EMPTY_STORE_MS = 5_000
/** Where blocks are stored and no pool yet, a request costs a credit. */
const NO_POOL_MS = 30_000
const MAX_ROWS = '100'
/** The table of new pools. */
const NEW_ROWS = '20'

export function openOffers(options: {
  /** Undefined without a key. */
  source(): OfferSource | undefined
  tokens: TokenFile
  offer(suggestions: readonly Suggestion[], newest: readonly NewSuggestion[]): void
  note(text: string): void
}): Offers {
  const { source, tokens, offer, note } = options
  const read = { pairs: Number.NEGATIVE_INFINITY, newest: Number.NEGATIVE_INFINITY }
  let renewed = Number.NEGATIVE_INFINITY
  let pairs: readonly Suggestion[] = []
  let newest: readonly NewSuggestion[] = []
  const isOld = (time: number) => performance.now() - time > FRESH_MS

  async function ask(what: 'pools/top' | 'pools/new', query: Readonly<Record<string, string>>, signal: AbortSignal) {
    const answer = await source()?.ask(what, query, signal)
    return answer?.body.data ?? []
  }

  async function readPairs(signal: AbortSignal): Promise<void> {
    pairs = suggestionsOf(await ask('pools/top', { per: 'pair', limit: MAX_ROWS }, signal), tokens.tokens)
    read.pairs = performance.now()
    offer(pairs, newest)
  }

  async function readNewest(signal: AbortSignal): Promise<void> {
    newest = newSuggestionsOf(await ask('pools/new', { limit: NEW_ROWS }, signal), tokens.tokens)
    read.newest = performance.now()
    offer(pairs, newest)
  }

  function renew(what: 'pairs' | 'all', signal: AbortSignal): number {
    const reads = [
      ...(isOld(read.pairs) ? [readPairs] : []),
      ...(what === 'all' && isOld(read.newest) ? [readNewest] : []),
    ]
    if (reads.length > 0) renewed = performance.now()
    for (const one of reads) one(signal).catch(() => undefined)
    return reads.length
  }

  return {
    poolsOf: async (token, signal) =>
      suggestionsOf(await ask('pools/top', { token, limit: MAX_ROWS }, signal), tokens.tokens),
    renew,
    keep(signal) {
      const budget = source()?.budget
      const spacing = budget?.pauseMs(1) ?? Number.POSITIVE_INFINITY
      if (performance.now() - renewed > Math.max(KEEP_EVERY.ms, KEEP_EVERY.credits * spacing))
        budget?.spend(renew('all', signal))
    },
    async firstPair(signal) {
      for (;;) {
        const isEmpty = await persist(
          () => isNothingStored(readPairs(signal)),
          signal,
          () => note(NOT_YET),
        )
        const [first] = pairs
        if (first !== undefined) return first.pair
        const pauseMs = isEmpty ? EMPTY_STORE_MS : NO_POOL_MS
        note('No pool is stored here yet. The page looks again by itself.')
        showState('waiting', new Date(Date.now() + pauseMs))
        await pause(pauseMs, signal)
      }
    },
  }
}

/** That refusal costs nothing. */
async function isNothingStored(read: Promise<void>): Promise<boolean> {
  try {
    await read
    return false
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'empty') return true
    throw error
  }
}
