/** SushiSwap v3: the contracts of Uniswap v3 behind a factory of its own. */
import { UNISWAP_PROOF } from './uniswap.ts'
import type { Venue } from './venue.ts'

export const sushi: Venue = { name: 'sushi', topics: [], proof: UNISWAP_PROOF }
