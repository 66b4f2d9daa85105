import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CANDLE_ADDITIONS, POOL_ADDITIONS, TICK_ADDITIONS } from '../../../api/query/include.ts'
import { parseParameters } from '../../../api/query/parameters.ts'
import { readCandleQuery, readPoolQuery, readTickQuery } from '../../../api/query/query.ts'
import { openApi } from '../../../api/schema/openapi.ts'
import { seeded } from '../../support/seed.ts'

const { paths } = openApi()
const POOL = `pool=0x${'1'.repeat(40)}`
/** Candles need it, too. */
const INTERVAL = '&interval=1h'

const READERS = [
  ['/v0/candles', Object.keys(CANDLE_ADDITIONS), readCandleQuery],
  ['/v0/ticks', Object.keys(TICK_ADDITIONS), readTickQuery],
  ['/v0/pools', Object.keys(POOL_ADDITIONS), readPoolQuery],
] as const

function read(reader: (typeof READERS)[number][2], text: string): readonly string[] | undefined {
  try {
    const asked = `${POOL}&include=${encodeURIComponent(text)}${reader === readCandleQuery ? INTERVAL : ''}`
    return reader(parseParameters(asked)).include
  } catch {
    return undefined
  }
}

test.each(READERS)(
  '%s reads each list of known names once, in one order, and refuses every other',
  (path, names, reader) => {
    const parameter = paths[path]?.get.parameters.find(({ name }) => name === 'include')
    const pattern = new RegExp(parameter?.schema.pattern ?? '', 'u')
    const blank = fc.constantFrom('', ' ', '\t', '\u00a0', '\ufeff')
    const word = fc.constantFrom(...names, ...names, 'other', '', names[0]?.toUpperCase() ?? '')
    const part = fc.tuple(blank, word, blank).map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
        const text = parts.join()
        const asked = parts.map((one) => one.trim())
        const isSet = new Set(asked).size === asked.length && asked.every((one) => names.includes(one))
        const found = read(reader, text)
        expect(found, text).toEqual(isSet ? names.filter((one) => asked.includes(one)) : undefined)
        if (isSet) expect(text).toMatch(pattern)
      }),
      seeded({ numRuns: 2_000 }),
    )
    for (const text of parameter?.schema.examples ?? []) expect(read(reader, String(text))).toEqual(names)
  },
)
