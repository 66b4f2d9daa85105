import { describe, expect, it } from 'vitest'
import { isEnded, statementsOf } from '../../../infra/clickhouse/statements.ts'

describe('statementsOf', () => {
  it('splits at semicolons, with or without a last one', () => {
    expect(statementsOf('SELECT 1;\n\nSELECT 2\n')).toEqual(['SELECT 1', 'SELECT 2'])
    expect(statementsOf('SELECT 1; SELECT 2;')).toEqual(['SELECT 1', 'SELECT 2'])
  })

  it('leaves semicolons in comments, strings and quoted names alone', () => {
    const sql = "SELECT ';', 'it''s; \\'fine;', `a;b`, \"c;d\" -- e;\n/* f;\n g; */ FROM t"
    expect(statementsOf(`${sql};\nSELECT 2;`)).toEqual([sql, 'SELECT 2'])
  })

  it('does not take a quote in a comment for the start of a string', () => {
    expect(statementsOf("-- it's one\nSELECT 1; -- isn't it;\nSELECT 4-2/2;")).toEqual([
      "-- it's one\nSELECT 1",
      "-- isn't it;\nSELECT 4-2/2",
    ])
  })

  it('leaves semicolons in heredocs and in comments that begin with # alone', () => {
    const sql = "SELECT $$a;b$$, $tag$;$$;$tag$ # c;\n#! it's d;\nFROM t"
    expect(statementsOf(`${sql};SELECT 2`)).toEqual([sql, 'SELECT 2'])
    expect(statementsOf('SELECT `a#b`, 1 #c\n')).toHaveLength(1)
    expect(statementsOf('SELECT a$b$ FROM t; SELECT 2')).toEqual(['SELECT a$b$ FROM t', 'SELECT 2'])
  })

  it('takes a string or a comment that is not closed for the rest', () => {
    expect(statementsOf("SELECT 1; SELECT 'a; b;")).toEqual(['SELECT 1', "SELECT 'a; b;"])
    expect(statementsOf('SELECT 1 /* a; b;')).toEqual(['SELECT 1 /* a; b;'])
  })

  it('has none where there are only comments and blanks', () => {
    expect(statementsOf('-- nothing;\n;;\n/* here */\n')).toEqual([])
  })
})

describe('isEnded', () => {
  it.each(['SELECT 1;', 'SELECT 1; -- and a comment', "SELECT 'a;';\n"])('takes %j for ended', (sql) => {
    expect(isEnded(sql)).toBe(true)
  })

  it.each(['', 'SELECT 1', "SELECT ';", 'SELECT 1 -- a;', 'SELECT 1 /* a;', 'SELECT 1; SELECT 2'])(
    'waits after %j',
    (sql) => {
      expect(isEnded(sql)).toBe(false)
    },
  )
})
