/** `include`: optional fields of rows that a query asks for. */
import { field } from './parameters.ts'

/** The fields that each name adds to a candle, in the order of the answer. */
export const CANDLE_ADDITIONS = {
  flow: ['trades', 'buys', 'sells', 'volumeBase', 'volumeQuote', 'volumeUsd', 'buyVolume', 'vwap'],
} as const
export type CandleAddition = keyof typeof CANDLE_ADDITIONS

/** The same of a tick. */
export const TICK_ADDITIONS = {
  position: ['block', 'logIndex'],
  sender: ['sender'],
  hooks: ['hookAmount0', 'hookAmount1', 'effectivePrice'],
} as const
export type TickAddition = keyof typeof TICK_ADDITIONS

/** The same of a pool. */
export const POOL_ADDITIONS = {
  market: ['price', 'change24h', 'volumeUSD24h', 'firstSeen', 'venue', 'hooks', 'hookDeltas'],
} as const
export type PoolAddition = keyof typeof POOL_ADDITIONS

/** The names of `additions` that are asked for, in the order of `additions`: the order of the query does not matter. */
export function include<Name extends string>(additions: Readonly<Record<Name, readonly string[]>>) {
  const names = Object.keys(additions) as Name[]
  const name = `\\s*(?:${names.join('|')})\\s*`
  const read = (text: string): readonly Name[] | undefined => {
    const asked = text.split(',').map((part) => part.trim())
    const known = names.filter((one) => asked.includes(one))
    // An unknown or repeated name makes `asked` longer than `known`.
    return known.length === asked.length ? known : undefined
  }
  const notation = { pattern: `^${name}(?:,${name}){0,${names.length - 1}}$`, examples: [names.join()] }
  const meanings = names.map((one) => `\`${one}\` adds ${additions[one].map((added) => `\`${added}\``).join(', ')}`)
  return field(`a comma-separated list of ${names.join(', ')}, each at most once`, read, notation)
    .optional()
    .describe(`Fields that each row has after the others, at no cost: ${meanings.join('; ')}.`)
}
