/** Lists of logs read by their text: the value or the error of the plain parse and its check, whatever the answer is. */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseBounded, TooManyParts } from '../../../infra/lib/bounded-json.ts'
import { readAnswer } from '../../../infra/rpc/read-answer.ts'
import { checkAnswer } from '../../../ingest/rpc/answers.ts'
import { isScanned } from '../../../ingest/rpc/scan-logs.ts'
import { type Random, randomOf } from '../../simulation/random.ts'
import { madeUpHash, recordedBlock, recordedDay } from '../../support/recorded.ts'
import { sample } from '../../support/sample.ts'
import { seeded } from '../../support/seed.ts'

type Fields = Record<string, unknown>

const day = recordedDay()
/** As go-ethereum writes it. */
function asGeth(log: (typeof day)[number], at: number): Fields {
  const { blockTimestamp, logIndex, blockHash, ...first } = log
  const transactionIndex = `0x${(at % 300).toString(16)}`
  return { ...first, transactionIndex, blockHash, blockTimestamp, logIndex, removed: false }
}

const older = (log: (typeof day)[number], at: number): Fields => {
  const { blockTimestamp: _, ...rest } = asGeth(log, at)
  return rest
}

const LISTS: readonly (readonly Fields[])[] = [
  day.slice(0, 5),
  day.slice(300, 306).map(asGeth),
  day.slice(2_000, 2_004).map(older),
  recordedBlock().logs,
  [
    asGeth(day[0] as never, 1),
    { ...asGeth(day[1] as never, 1), topics: [] },
    { ...asGeth(day[2] as never, 2), data: '0x' },
  ],
]

/** All logs of one list have the same keys in the same order, the first one's. */
function uniform(logs: readonly Fields[]): readonly Fields[] {
  const keys = Object.keys(logs[0] ?? {})
  return logs.map((log) => Object.fromEntries(keys.map((key) => [key, log[key]])))
}

const header = { jsonrpc: '2.0', id: 2, result: { number: '0x10', hash: madeUpHash(16), parentHash: madeUpHash(15) } }
const answerOf = (result: unknown, id = 1) => ({ jsonrpc: '2.0', id, result })

type Outcome = { value: unknown } | { error: string }

/** Checks the results as those of eth_getLogs. */
function outcomeOf(read: (bytes: Buffer) => unknown, bytes: Buffer): Outcome {
  try {
    const value = read(bytes)
    const calls = Array.isArray(value) ? value : [value]
    const checks = calls.map((call) => {
      try {
        checkAnswer('eth_getLogs', (call as Fields | null)?.['result'])
        return 'checked'
      } catch (error) {
        return String(error)
      }
    })
    return { value: { value, checks } }
  } catch (error) {
    return { error: `${(error as Error).name}: ${(error as Error).message}` }
  }
}

function expectSame(bytes: Buffer): void {
  const [plain, ours] = [outcomeOf(parseBounded, bytes), outcomeOf(readAnswer, bytes)]
  if (!isDeepStrictEqual(ours, plain)) expect({ text: bytes.toString(), ...ours }).toEqual({ text: '', ...plain })
}

const listsIn = (value: unknown) =>
  (Array.isArray(value) ? value : [value]).map((call) => Array.isArray(call?.result) && isScanned(call.result))

describe('an answer of a sound node', () => {
  const spaced = (value: unknown) => JSON.stringify(value).replaceAll('":', '": ').replaceAll(',"', ', "')
  const cases = LISTS.flatMap((list) => [
    JSON.stringify(answerOf(uniform(list))),
    JSON.stringify([answerOf(uniform(list)), header]),
    JSON.stringify([header, answerOf(uniform(list)), answerOf(uniform(list).toReversed(), 3)]),
    `{"result":${JSON.stringify(uniform(list))},"id":"1","jsonrpc":"2.0"}\n`,
    `{"id":1,"result":${spaced(uniform(list)).replaceAll('}, {', '} ,\n{')} , "note": "Zürich"}`,
  ])

  test.each(cases.map((text) => [text.slice(0, 60), text]))(
    '%s… is read by its text, and as it is parsed',
    (_, text) => {
      const bytes = Buffer.from(text)
      expectSame(bytes)
      expect(listsIn(readAnswer(bytes))).toContain(true)
    },
  )

  test('a whole day is, too', () => {
    const bytes = Buffer.from(JSON.stringify([answerOf(day), header]))
    expectSame(bytes)
    expect(listsIn(readAnswer(bytes))).toEqual([true, false])
  })

  test('values that repeat are one string', () => {
    const [one, two] = (readAnswer(Buffer.from(JSON.stringify(answerOf([day[0], day[0]])))) as { result: Fields[] })
      .result
    expect(one).toEqual(two)
    expect(one?.['topics']).toEqual(day[0]?.topics)
  })
})

const VALUES: readonly [unknown, ...unknown[]] = [
  null,
  7,
  1e21,
  true,
  '',
  '0x',
  '0x0',
  '0x00',
  '0x0a',
  '0xA',
  '0xzz',
  '12',
  '-0x1',
  '0x1g',
  `0x${'f'.repeat(64)}`,
  `0x${'F'.repeat(64)}`,
  `0x${'ab'.repeat(20)}`,
  `0x${'ab'.repeat(200)}`,
  '0x123',
  '0x12',
  '0x1234',
  '0x20000000000000',
  '0xfffffffff',
  '0xffffffff',
  '0x7ff',
  '0x800',
  [],
  [[]],
  ['0x'],
  {},
  { result: [] },
  'ünï',
  '\u0000',
  '\\',
  '"',
  ['0x1'],
  Array.from({ length: 5 }, (_, at) => madeUpHash(at)),
  [madeUpHash(1).toUpperCase()],
  [madeUpHash(1), '0X12'],
  [madeUpHash(1), madeUpHash(2).replace('0', 'A')],
  '0x:;<=>?',
  `0x${'`'.repeat(64)}`,
]
const PIECES: readonly [string, ...string[]] = [
  '"',
  '\\',
  '\\"',
  '\\u0030',
  '\\u0061',
  ',',
  '{',
  '}',
  '[',
  ']',
  '[{',
  '"result":[{',
  ':',
  ' ',
  '\n',
  '\t',
  '\ufeff',
  'é',
  '🦄',
  '0',
  'x',
  'A',
  'g',
  'null',
  'true',
  '"__proto__":{},',
  '"removed":true,',
  '"address":"0x00",',
  '},{',
  '/**/',
  '\u0000',
  '`',
  ':',
  '@',
]

const random64 = (random: Random) => random.bits(256).toString(16).padStart(64, '0')

/** A list with some values that no node sends, keys that it lacks or has twice, or in another order. */
function twisted(random: Random): string {
  const list = uniform(random.pick(LISTS as never)).map((log) => ({ ...(log as Fields) }))
  const keys = Object.keys(list[0] ?? {}) as [string, ...string[]]
  for (let times = random.pick([0, 0, 1, 2]); times > 0; times--) {
    const log = list[random.between(0, list.length - 1)] as Fields
    const key = random.pick(keys)
    if (random.chance(0.3)) delete log[key]
    else if (random.chance(0.2)) log[random.pick(['__proto__x', 'l1BatchNumber', 'Data', 'result'])] = log[key]
    else if (Array.isArray(log[key])) log[key] = [...log[key], random.pick(VALUES)]
    else log[key] = random.chance(0.3) ? `0x${random64(random).slice(random.between(0, 64))}` : random.pick(VALUES)
  }
  const texts = list.map((log) => {
    const pairs = Object.entries(log).map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`)
    if (random.chance(0.1)) pairs.push(random.pick(pairs as [string, ...string[]]))
    if (random.chance(0.05)) pairs.reverse()
    return `{${pairs.join()}}`
  })
  return `[${texts.join()}]`
}

function envelope(random: Random, list: string): string {
  const sound = () => `{"jsonrpc":"2.0","id":1,"result":${list}}`
  const others = random.pick<() => string>([
    () => `{"result":${list},"result":${twisted(random)}}`,
    () => `{"result":${twisted(random)},"result":null}`,
    () => `{"id":1,"error":{"result":${list}}}`,
    () => `{"__proto__":{"result":${list}}}`,
    () => `{"result":[${list}]}`,
    () => `{${list}:1}`,
    () => `{"a\\"result":${list}}`,
    () => `{"error":"\\"result":${list}"}`,
    () => `{"result":${list}`,
    () => `{"result":${list}}]`,
    () => `\ufeff{"result":${list}}`,
    () => `{"result":[{"blockHash":"0x","logs":${list}}]}`,
  ])
  const call = random.chance(0.6) ? sound() : others()
  if (random.chance(0.4)) return call
  return `[${JSON.stringify(header)},${call}${random.chance(0.3) ? `,${envelope(random, list)}` : ''}]`
}

/** Some bytes of the text are others, missing or there twice. */
function spoiled(random: Random, text: string): Buffer {
  let bytes = Buffer.from(text)
  for (let times = random.pick([0, 0, 1, 1, 2]); times > 0; times--) {
    const at = random.between(0, bytes.length - 1)
    const end = random.chance(0.7) ? at : Math.min(bytes.length, at + random.between(1, 90))
    const piece = random.chance(0.2)
      ? bytes.subarray(at, at + random.between(1, 900))
      : Buffer.from(random.pick(PIECES))
    const byte = random.chance(0.3) ? Buffer.from([random.between(0, 255)]) : piece
    bytes = Buffer.concat([bytes.subarray(0, at), byte, bytes.subarray(random.chance(0.5) ? end : end + 1)])
  }
  return random.chance(0.05) ? bytes.subarray(0, random.between(0, bytes.length)) : bytes
}

test('a spoiled answer has the outcome of the plain parse', () => {
  let read = 0
  fc.assert(
    fc.property(fc.noShrink(fc.integer()), (seed) => {
      const random = randomOf(seed)
      const bytes = spoiled(random, envelope(random, twisted(random)))
      expectSame(bytes)
      if (read < 100) read += Number(outcomeHasList(bytes))
    }),
    seeded({ numRuns: sample('ANSWERS', 4_000, 400_000) }),
  )
  // Many of the answers are sound.
  expect(read).toBe(100)
})

/** Where a text has another structure, and where a run of hex begins or ends. */
function edgesOf(text: string): number[] {
  const isInside = (at: number) => /^[0-9a-f]{9}$/.test(text.slice(at - 4, at + 5))
  return Array.from(text, (_, at) => at).filter((at) => !isInside(at))
}

test.each([
  ['in one log', uniform([asGeth(day[0] as never, 7)])],
  ['in two logs', uniform([day[3], day[4]] as never)],
])('each byte %s may be missing, another or there twice', (_, list) => {
  const text = JSON.stringify(answerOf(list))
  const others = ['', ' ', '"', ',', ':', '{', '}', '[', ']', '\\', '0', 'g', 'A', '\0', 'é']
  for (const at of edgesOf(text))
    for (const other of [...others, text.slice(at, at + 1).repeat(2)])
      for (const skipped of [0, 1]) expectSame(Buffer.from(text.slice(0, at) + other + text.slice(at + skipped)))
})

function outcomeHasList(bytes: Buffer): boolean {
  try {
    return listsIn(readAnswer(bytes)).includes(true)
  } catch {
    return false
  }
}

describe('an answer that is made to harm', () => {
  const log = JSON.stringify(asGeth(day[0] as never, 0))
  const list = `[${Array.from({ length: 50 }, () => log).join()}]`

  test.each([
    ['too many values after the logs', `{"result":${list},"more":[${'0,'.repeat(20_000)}0]}`],
    ['too many lists before the logs', `{"more":[${'[],'.repeat(20_000)}0],"result":${list}}`],
    ['too deep a rest', `{"result":${list},"more":${'['.repeat(40)}${']'.repeat(40)}}`],
    [
      'too many fields in a log',
      `{"result":[${log.slice(0, -1)},${Array.from({ length: 300 }, (_, at) => `"f${at}":0`).join()}}]}`,
    ],
  ])('%s is refused', (_, text) => {
    expectSame(Buffer.from(text))
    expect(() => readAnswer(Buffer.from(text))).toThrow(TooManyParts)
  })

  test.each([
    ['lists by the thousand', `[${Array.from({ length: 5_000 }, () => `{"result":[${log}]}`).join()}]`],
    [
      'one log with a megabyte of data',
      `{"result":[${log.replace(/"data":"0x/, `"data":"0x${'00'.repeat(2 ** 20)}`)}]}`,
    ],
    [
      'a later log with a megabyte of data',
      `{"result":[${log},${log.replace(/"data":"0x/, `"data":"0x${'00'.repeat(2 ** 20)}`)}]}`,
    ],
    ['lists that do not end', `{"result":[{`.repeat(20)],
    ['the text of a list in a string', JSON.stringify({ result: list, note: `"result":${list}` })],
  ])('%s has the outcome of the plain parse', (_, text) => expectSame(Buffer.from(text)))
})
