/** From a log to a tick. */
import { faultsIn } from '../plant.ts'

const DECODE = ['test/ingest/decode/decode.test.ts']
const WORDS = ['test/ingest/decode/swap-words.test.ts', ...DECODE]

export const DECODING = [
  ...faultsIn('ingest/decode/decode-v3.ts', DECODE, [
    ['a v3 swap keeps the sign of the pool', 'amount0: -words.amount0', 'amount0: words.amount0'],
    ['a burn adds liquidity', 'isMint ? amount : -amount', 'amount'],
    ['a mint has the amount of its sender', 'isMint ? 1 : 0)', 'isMint ? 0 : 0)'],
    ['a pool of any factory is taken', 'if (pool !== factory.toLowerCase()) return undefined', ''],
    ['the bounds of a position are exchanged', 'tickLower: int24(second, 0)', 'tickLower: int24(third, 0)'],
    ['a swap with another number of topics is taken', 'log.topics.length !== 3 || ', ''],
  ]),
  ...faultsIn('ingest/decode/decode-v4.ts', DECODE, [
    ['a v4 swap has the sign of v3', 'amount1: words.amount1', 'amount1: -words.amount1'],
    ['a v4 log of any contract is taken', ' || log.address.toLowerCase() !== poolManager.toLowerCase()', ''],
    ['the hook of a pool is its tick spacing', 'hooks: address(log.data, 2)', 'hooks: address(log.data, 1)'],
    ['a v4 swap has no fee of its own', 'fee: uint24(log.data, 5)', 'fee: 0'],
    [
      'a v4 position loses the sign of its change',
      'liquidityDelta: int(log.data, 2)',
      'liquidityDelta: uint(log.data, 2)',
    ],
  ]),
  ...faultsIn('ingest/decode/swap-words.ts', WORDS, [
    ['the third limb of a word is left out', '(upper(at) << 128n) | ', ''],
    ['a negative word is read without its sign', 'return BigInt.asIntN(256, uint(word))', 'return uint(word)'],
    ['a word with other characters is taken', " || bytes.write(data.slice(2), 0, 'hex') !== count * 32", ''],
  ]),
  ...faultsIn(
    'ingest/decode/word.ts',
    ['test/ingest/decode/word.test.ts', ...DECODE],
    [['a negative tick is read without its sign', '(uint24(data, index) << 8) >> 8', 'uint24(data, index)']],
  ),
]
