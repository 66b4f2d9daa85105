import { expect, test } from 'vitest'
import { csvCell, ROW_FORMS } from '../../../api/lib/row-text.ts'

test('a CSV cell is quoted where it has to be', () => {
  expect(csvCell('a,b')).toBe('"a,b"')
  expect(csvCell('say "no"\n')).toBe('"say ""no""\n"')
  expect(csvCell(1e-7)).toBe('1e-7')
})

test('a symbol is no formula of a spreadsheet, and a negative amount stays a number', () => {
  expect(csvCell('=HYPERLINK("http://evil")')).toBe(`"'=HYPERLINK(""http://evil"")"`)
  expect(csvCell('@SUM')).toBe("'@SUM")
  expect(csvCell('-2+3')).toBe("'-2+3")
  expect(csvCell('-2549.977996')).toBe('-2549.977996')
  expect(csvCell(-0.5)).toBe('-0.5')
})

test('an empty answer has the header line in CSV and nothing in NDJSON', () => {
  expect(ROW_FORMS['text/csv'].write([], ['time', 'open'])).toBe('time,open\r\n')
  expect(ROW_FORMS['application/x-ndjson'].write([])).toBe('')
})
