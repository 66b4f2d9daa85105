/** Every planted fault, by what it breaks. */
import { CREDITS } from './faults/credits.ts'
import { DECODING } from './faults/decoding.ts'
import { ENDPOINT_FAULTS } from './faults/endpoints.ts'
import { FOLD } from './faults/fold.ts'
import { LEDGER } from './faults/ledger.ts'
import { MARKET } from './faults/market.ts'
import { PRICES } from './faults/prices.ts'
import { PROOF } from './faults/proof.ts'
import { PUBLISHING } from './faults/publishing.ts'
import { QUERIES } from './faults/queries.ts'
import { STREAM_FAULTS } from './faults/streams.ts'
import type { Mutant } from './plant.ts'

const AREAS = {
  decoding: DECODING,
  prices: PRICES,
  proof: PROOF,
  fold: FOLD,
  ledger: LEDGER,
  credits: CREDITS,
  market: MARKET,
  queries: QUERIES,
  endpoints: ENDPOINT_FAULTS,
  publishing: PUBLISHING,
  streams: STREAM_FAULTS,
} as const satisfies Record<string, readonly Mutant[]>

export type NamedMutant = Mutant & { area: string }

export const MUTANTS: readonly NamedMutant[] = Object.entries(AREAS).flatMap(([area, mutants]) =>
  mutants.map((mutant) => ({ area, ...mutant })),
)
