import { describe, expect, it } from 'vitest'
import { statementsOf } from '../../../infra/clickhouse/statements.ts'

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

  it('has none where there are only comments and blanks', () => {
    expect(statementsOf('-- nothing;\n;;\n/* here */\n')).toEqual([])
  })
})
