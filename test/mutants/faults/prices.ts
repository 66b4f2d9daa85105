/** From amounts to prices. */
import { faultsIn } from '../plant.ts'

const PRICE = ['test/ingest/pricing/price.test.ts']
const DOUBLES = ['test/ingest/pricing/double-double.test.ts', ...PRICE]
const COLUMNS = ['test/ingest/blocks/assemble-columns.test.ts']
const USD = ['test/ingest/pricing/usd.test.ts']

export const PRICES = [
  ...faultsIn('ingest/pricing/price.ts', PRICE, [
    ['a spot price forgets the decimals', 'shifted(product(root, root), decimals0 - decimals1)', 'product(root, root)'],
    [
      'an execution price is of the wrong leg',
      'quotient(toDoubleDouble(size1), toDoubleDouble(size0))',
      'quotient(toDoubleDouble(size0), toDoubleDouble(size1))',
    ],
    ['a leg of dust sets the price', 'if (size0 < MIN_LEG_UNITS || size1 < MIN_LEG_UNITS) return undefined', ''],
    ['the least leg is one unit larger', 'MIN_LEG_UNITS = 10_000n', 'MIN_LEG_UNITS = 10_001n'],
  ]),
  ...faultsIn('ingest/pricing/double-double.ts', DOUBLES, [
    [
      'the rounding error of a product is left out',
      'productError(a.hi, b.hi, hi) + (a.hi * b.lo + a.lo * b.hi)',
      'a.hi * b.lo + a.lo * b.hi',
    ],
    [
      'a quotient is that of the leading halves',
      'return sum(hi, (a.hi - part.hi + (a.lo - part.lo)) / b.hi)',
      'return sum(hi, 0 * part.hi)',
    ],
    ['a tie is decided by the leading half', 'return low === hi + (lo + error) ? low : undefined', 'return low'],
  ]),
  ...faultsIn('ingest/pricing/column-prices.ts', COLUMNS, [
    [
      'columns price by the spot price alone',
      'price[row] = isPriced ? this.#execution(columns, row) : spot',
      'price[row] = isPriced && row < 0 ? this.#execution(columns, row) : spot',
    ],
    [
      'columns take one of two dollar values',
      'if (value0 >= 0 && value1 >= 0) value = Math.floor((value0 + value1 + 1) / 2)',
      '',
    ],
    [
      'the complement of a negative amount is one short',
      'const value = lane === 0 ? bits + sign : bits',
      'const value = bits',
    ],
    ['the upper lane of dollars is lost', 'usdMicros[at + 1] = value / TWO_32', 'usdMicros[at + 1] = 0'],
  ]),
  ...faultsIn('ingest/pricing/usd.ts', USD, [
    ['the mean of two legs is rounded down', '(value0 + value1 + 1n) / 2n', '(value0 + value1) / 2n'],
    [
      'a rollback keeps the price of a block that is gone',
      '(history.at(-1)?.block ?? 0) > block',
      '(history.at(-1)?.block ?? 0) > block + 1',
    ],
    [
      'finality forgets the price that still holds',
      'if (keep > 0) history.splice(0, keep)',
      'history.splice(0, keep + 1)',
    ],
    [
      'native ether has no price',
      'token === NATIVE_CURRENCY ? this.#wrappedNative : token',
      'token === NATIVE_CURRENCY && false ? this.#wrappedNative : token',
    ],
  ]),
]
