/** The parameters of `/v0/udf/*`, as chart libraries send them. */
import { z } from 'zod'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import { NETWORK_NAMES, type NetworkName } from '../../../ingest/model/network.ts'
import type { PoolId } from '../../../ingest/model/pool.ts'
import { type IntervalSeconds, parseInterval } from '../../query/interval.ts'
import { nearPair } from '../../query/near-pair.ts'
import { field, type JointRule, type RawParameters, readQuery } from '../../query/parameters.ts'
import { type Split, SYMBOL_RULE, splitSymbol } from '../../query/symbol.ts'

/** Minutes, or seconds and days with their letter. */
export const UDF_RESOLUTIONS = [
  ...['1S', '5S', '15S', '30S'],
  ...['1', '3', '5', '15', '30', '60', '120', '240', '360', '720'],
  '1D',
] as const

/** A pair, a pool, or a pool in the direction of a pair, each also after its network: `ethereum:WETH-USDC`, `ethereum:0x88e6…:WETH-USDC`. */
export type UdfSymbol = {
  networks: readonly NetworkName[] | undefined
  pool: PoolId | undefined
  symbol: { text: string; splits: readonly Split[] } | undefined
}

const PREFIX = new RegExp(`^(?:(${NETWORK_NAMES.join('|')}):)?(.+)$`, 'is')
const POOL = /^(0x[0-9a-f]{40}(?:[0-9a-f]{24})?)(?::(.+))?$/is

export function parseUdfSymbol(text: string): UdfSymbol | undefined {
  const [, network, named = ''] = PREFIX.exec(text) ?? []
  const [, pool, pair] = POOL.exec(named) ?? []
  const written = pool === undefined ? named : pair
  const splits = written === undefined ? [] : splitSymbol(written)
  if (written !== undefined && splits.length === 0) return undefined
  const name = NETWORK_NAMES.find((it) => it === network?.toLowerCase())
  return {
    networks: name && [name],
    pool: pool?.toLowerCase() as PoolId | undefined,
    symbol: written === undefined ? undefined : { text: written, splits },
  }
}

function parseResolution(text: string): IntervalSeconds | undefined {
  const [, count, unit] = /^(\d{1,5})([SD]?)$/.exec(text === 'D' ? '1D' : text) ?? []
  return count === undefined ? undefined : parseInterval(`${count}${(unit || 'm').toLowerCase()}`)
}

const symbol = field(`${SYMBOL_RULE}, or a pool`, parseUdfSymbol, { examples: ['WETH-USDC'] }, nearPair)

function whole(rule: string, most: number) {
  return field(rule, (text) => (/^\d{1,12}$/.test(text) && Number(text) <= most ? Number(text) : undefined), {
    examples: [1_704_412_800],
  })
}

/** Chart libraries compute times: before 1970 there are no bars, and a bar begins at a whole second. */
const second = () =>
  field(
    'a time in seconds since 1970',
    (text) => {
      const seconds = /^-?\d{1,12}(\.\d+)?$/.test(text) ? Math.max(0, Math.ceil(Number(text))) : undefined
      return seconds !== undefined && seconds < 2 ** 32 ? seconds : undefined
    },
    { examples: [1_704_412_800] },
  )

const SymbolShape = z.object({ symbol })
const SearchShape = z.object({
  query: z.string().default(''),
  limit: whole('a whole number from 0 to 1000', 1_000).default(30),
})
const HistoryShape = z.object({
  symbol,
  resolution: field('minutes, or a number and S or D, at most 1D', parseResolution, { examples: ['60'] }),
  from: second(),
  to: second(),
  countback: whole('a whole number', 10 ** 9).optional(),
})

export type UdfHistoryQuery = {
  symbol: UdfSymbol
  interval: IntervalSeconds
  from: UnixSeconds
  to: UnixSeconds
  countback: number
}

export const readUdfSymbol = (parameters: RawParameters): UdfSymbol => readQuery(SymbolShape, parameters).symbol

/** An empty `query` is allowed: chart libraries send one. */
export function readUdfSearch(parameters: RawParameters): z.output<typeof SearchShape> {
  return readQuery(
    SearchShape,
    new Map([...parameters].filter(([name, [text = '']]) => name !== 'query' || text.trim() !== '')),
  )
}

/** `countback` wins over `from`, as the contract of UDF says. */
export function readUdfHistory(parameters: RawParameters): UdfHistoryQuery {
  const { resolution: interval, countback, ...query } = readQuery(HistoryShape, parameters, fromBeforeTo)
  return { ...query, interval, countback: countback ?? Math.ceil((query.to - query.from) / interval) }
}

const fromBeforeTo: JointRule = (given) =>
  Number(given.get('from')) < Number(given.get('to')) ? [] : [{ field: 'from', message: 'must be before to' }]
