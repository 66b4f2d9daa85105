/**
 * The functions that a statement at SQL_PORT may call: they compute from their arguments alone. A function of a later engine is refused until it
 * is listed. Not listed: functions that read files, dictionaries, tables by name, models or the server's state, that wait, or that parse states
 * of aggregate functions.
 */

/** `name` as the engine's parse spells it. Combinators of aggregate functions are part of the name: `sumIf`, `uniqArrayIf`. */
export function isListedFunction(name: string): boolean {
  const lower = name.toLowerCase()
  return FUNCTIONS.has(lower) || isAggregate(lower)
}

/** Table functions that make their rows from their arguments. None has the name of a listed function. */
export function isListedTableFunction(name: string): boolean {
  return ['numbers', 'generateseries', 'generate_series', 'values'].includes(name.toLowerCase())
}

const COMBINATORS = [
  ...['if', 'array', 'distinct', 'ornull', 'ordefault', 'foreach', 'resample', 'map', 'argmin', 'argmax'],
] as const

function isAggregate(lower: string): boolean {
  if (AGGREGATES.has(lower)) return true
  const combinator = COMBINATORS.find((it) => lower.endsWith(it))
  return combinator !== undefined && isAggregate(lower.slice(0, -combinator.length))
}

const OPERATORS = `
  and or not xor equals notEquals less greater lessOrEquals greaterOrEquals isDistinctFrom isNotDistinctFrom in notIn globalIn globalNotIn
  nullIn notNullIn like notLike ilike notILike match lambda tuple tupleElement array arrayElement map exists grouping CAST _CAST DATE
  if multiIf caseWithExpression caseWithExpr caseWithoutExpression caseWithoutExpr greatest least clamp
  isNull isNotNull isNullable isZeroOrNull assumeNotNull coalesce firstNonDefault ifNull nullIf toNullable
  plus minus multiply divide intDiv intDivOrZero intDivOrNull modulo moduloOrZero moduloOrNull mod modOrNull positiveModulo positive_modulo pmod
  negate abs sign gcd lcm max2 min2 avg2 midpoint divideDecimal divideOrNull multiplyDecimal isFinite isInfinite isNaN ifNotFinite byteSwap
  bitAnd bitOr bitXor bitNot bitCount bitShiftLeft bitShiftRight bitRotateLeft bitRotateRight bitTest bitTestAll bitTestAny bitHammingDistance
  bitSlice`

const MATHEMATICS = `
  acos acosh asin asinh atan atan2 atanh cbrt ceil ceiling cos cosh degrees e erf erfc exp exp10 exp2 factorial floor hypot intExp10 intExp2
  lgamma ln log log10 log1p log2 pi pow power radians round roundAge roundBankers roundDown roundDuration roundToExp2 sigmoid sin sinh sqr
  sqrt tan tanh tgamma trunc truncate widthBucket width_bucket proportionsZTest financialInternalRateOfReturn
  financialInternalRateOfReturnExtended financialNetPresentValue financialNetPresentValueExtended seriesDecomposeSTL seriesOutliersDetectTukey
  rand rand32 rand64 randBernoulli randBinomial randCanonical randChiSquared randConstant randExponential randFisherF randLogNormal
  randNegativeBinomial randNormal randPoisson randStudentT randUniform L1Distance L1Norm L2Distance L2Norm LinfDistance LinfNorm LpDistance
  LpNorm cosineDistance dotProduct scalarProduct runningDifference runningDifferenceStartingWithFirstValue`

const TIME = `
  addDate addDays addHours addInterval addMicroseconds addMilliseconds addMinutes addMonths addNanoseconds addQuarters addSeconds addWeeks
  addYears age dateDiff date_diff DATE_DIFF timestampDiff timestamp_diff dateName dateTrunc date_trunc date_bin time_bucket formatDateTime
  DATE_FORMAT formatDateTimeInJodaSyntax fromUnixTimestamp FROM_UNIXTIME fromUnixTimestamp64Micro fromUnixTimestamp64Milli
  fromUnixTimestamp64Nano fromUnixTimestamp64Second fromUTCTimestamp from_utc_timestamp makeDate makeDate32 makeDateTime makeDateTime64 monthName
  now now64 curdate current_date current_timestamp localtime localtimestamp UTCTimestamp UTC_timestamp today yesterday serverTimezone subDate
  subtractDays subtractHours subtractInterval subtractMicroseconds subtractMilliseconds subtractMinutes subtractMonths subtractNanoseconds
  subtractQuarters subtractSeconds subtractWeeks subtractYears timeDiff timeSlot timeSlots timestamp timezone timezoneOf timezoneOffset
  toDayOfMonth toDayOfWeek toDayOfYear toDaysInMonth toDaysSinceYearZero toHour toISOWeek toISOYear toLastDayOfMonth toLastDayOfWeek
  toMicrosecond toMillisecond toMinute toMonday toMonth toMonthNumSinceEpoch toNanosecond toQuarter toRelativeDayNum toRelativeHourNum
  toRelativeMinuteNum toRelativeMonthNum toRelativeQuarterNum toRelativeSecondNum toRelativeWeekNum toRelativeYearNum toSecond toStartOfDay
  toStartOfFifteenMinutes toStartOfFiveMinutes toStartOfFiveMinute toStartOfHour toStartOfISOYear toStartOfInterval toStartOfMicrosecond
  toStartOfMillisecond toStartOfMinute toStartOfMonth toStartOfNanosecond toStartOfQuarter toStartOfSecond toStartOfTenMinutes toStartOfWeek
  toStartOfYear toTimeWithFixedDate toTimezone toUnixTimestamp TO_UNIXTIME toUnixTimestamp64Micro toUnixTimestamp64Milli toUnixTimestamp64Nano
  toUnixTimestamp64Second toUTCTimestamp to_utc_timestamp toWeek week toYear toYearNumSinceEpoch toYearWeek yearweek toYYYYMM toYYYYMMDD
  toYYYYMMDDhhmmss YYYYMMDDToDate YYYYMMDDToDate32 YYYYMMDDhhmmssToDateTime YYYYMMDDhhmmssToDateTime64 DAY DAYOFMONTH DAYOFWEEK DAYOFYEAR HOUR
  LAST_DAY MICROSECOND MILLISECOND MINUTE MONTH NANOSECOND QUARTER SECOND YEAR toInterval toIntervalNanosecond toIntervalMicrosecond
  toIntervalMillisecond toIntervalSecond toIntervalMinute toIntervalHour toIntervalDay toIntervalWeek toIntervalMonth toIntervalQuarter
  toIntervalYear parseDateTimeBestEffort parseDateTime64BestEffort parseDateTime parseDateTime64 hop hopEnd hopStart tumble tumbleEnd tumbleStart
  windowID`

const TEXTS = `
  appendTrailingCharIfAbsent ascii base58Decode base58Encode base64Decode base64Encode bin bar byteHammingDistance char concat concat_ws
  concatWithSeparator conv countMatches countSubstrings editDistance empty endsWith extract extractAll extractGroups
  formatReadableDecimalSize formatReadableQuantity formatReadableSize formatReadableTimeDelta hasSubsequence hasToken hex initcap instr isValidUTF8
  jaroSimilarity jaroWinklerSimilarity lcase left leftPad leftUTF8 length lengthUTF8 levenshteinDistance locate lower lowerUTF8 lpad ltrim
  multiSearchAny multiSearchFirstIndex ngramDistance ngrams notEmpty OCTET_LENGTH CHAR_LENGTH CHARACTER_LENGTH position positionCaseInsensitive
  printf regexpExtract REGEXP_EXTRACT REGEXP_REPLACE regexpQuoteMeta repeat replace replaceAll replaceOne replaceRegexpAll replaceRegexpOne
  reverse reverseUTF8 right rightPad rightUTF8 rpad rtrim space splitByChar splitByNonAlpha splitByRegexp splitByString splitByWhitespace
  startsWith substr mid substring substringIndex substringUTF8 tokens toValidUTF8 translate trim trimBoth trimLeft trimRight ucase unbin unhex
  upper upperUTF8 cityHash64 CRC32 farmHash64 halfMD5 intHash32 intHash64 keccak256 MD5 murmurHash3_64 SHA1 SHA256 SHA512 sipHash64
  xxHash64 xxh3 JSONExtract JSONExtractArrayRaw JSONExtractBool JSONExtractFloat JSONExtractInt JSONExtractKeys JSONExtractKeysAndValues
  JSONExtractRaw JSONExtractString JSONExtractUInt JSONHas JSONLength JSONType JSON_EXISTS JSON_QUERY JSON_VALUE isValidJSON toJSONString`

const COLLECTIONS = `
  arrayAll arrayAvg arrayCompact arrayConcat arrayCount arrayCumSum arrayCumSumNonNegative arrayDifference arrayDistinct arrayDotProduct
  arrayElementOrNull arrayEnumerate arrayEnumerateDense arrayEnumerateUniq arrayExcept arrayExists arrayFill arrayFilter arrayFirst
  arrayFirstIndex arrayFirstOrNull arrayFlatten flatten arrayFold arrayIntersect arrayJoin unnest arrayLast arrayLastIndex arrayLastOrNull
  arrayMap arrayMax arrayMin arrayPartialSort arrayPopBack arrayPopFront arrayProduct arrayPushBack arrayPushFront arrayResize arrayReverse
  arrayReverseFill arrayReverseSort arrayReverseSplit arrayRotateLeft arrayRotateRight arrayShiftLeft arrayShiftRight arrayShuffle arraySlice
  arraySort arraySplit arrayStringConcat arraySum arrayUnion arrayUniq arrayWithConstant arrayZip arrayZipUnaligned countEqual has hasAll hasAny
  hasSubstr indexOf range mapAdd mapApply mapConcat mapContains mapContainsKey mapExists mapFilter mapFromArrays mapKeys mapSort mapSubtract
  mapUpdate mapValues tupleConcat tupleDivide tupleMinus tupleMultiply tupleNames tupleNegate tuplePlus tupleToNameValuePairs`

const OTHERS = `
  accurateCast accurateCastOrDefault accurateCastOrNull reinterpretAsInt64 reinterpretAsUInt64 reinterpretAsUInt256 reinterpretAsString
  toString toStringCutToZero toFixedString toDecimalString toBool toLowCardinality toTime toTypeName toColumnTypeName byteSize identity ignore
  materialize transform rowNumberInAllBlocks rowNumberInBlock generateUUIDv4 toUUID toIPv4 toIPv6
  currentDatabase current_database DATABASE SCHEMA currentUser current_user user version displayName revision protocol`

const CONVERSIONS = [
  ...[8, 16, 32, 64, 128, 256].flatMap((bits) => [`toInt${bits}`, `toUInt${bits}`]),
  ...[32, 64, 128, 256].map((bits) => `toDecimal${bits}`),
  ...['toFloat32', 'toFloat64', 'toDate', 'toDate32', 'toDateTime', 'toDateTime32', 'toDateTime64'],
].flatMap((name) => ['', 'OrNull', 'OrZero', 'OrDefault'].map((suffix) => name + suffix))

const AGGREGATES: ReadonlySet<string> = wordsOf(`
  any anyHeavy anyLast any_value any_respect_nulls anyLast_respect_nulls approx_top_k approx_top_count approx_top_sum argMax argMin array_agg avg
  avgWeighted boundingRatio corr corrStable count covarPop covarPopStable covarSamp covarSampStable COVAR_POP COVAR_SAMP cume_dist deltaSum
  deltaSumTimestamp dense_rank denseRank entropy exponentialMovingAverage exponentialTimeDecayedAvg exponentialTimeDecayedCount
  exponentialTimeDecayedMax exponentialTimeDecayedSum first_value first_value_respect_nulls groupArray groupArrayInsertAt groupArrayLast
  groupArrayMovingAvg groupArrayMovingSum groupArraySample groupArraySorted groupBitAnd groupBitOr groupBitXor groupConcat group_concat
  groupUniqArray histogram intervalLengthSum kolmogorovSmirnovTest kurtPop kurtSamp lag lagInFrame largestTriangleThreeBuckets last_value
  last_value_respect_nulls lead leadInFrame lttb mannWhitneyUTest max max_by maxIntersections maxIntersectionsPosition meanZTest median medianExact
  medianExactHigh medianExactLow medianExactWeighted medianTDigest medianTDigestWeighted min min_by nonNegativeDerivative nth_value ntile
  percent_rank percentRank quantile quantileDD quantileDeterministic quantileExact quantileExactExclusive quantileExactHigh quantileExactInclusive
  quantileExactLow quantileExactWeighted quantileInterpolatedWeighted quantiles quantilesDD quantilesExact quantilesExactExclusive
  quantilesExactHigh quantilesExactInclusive quantilesExactLow quantilesExactWeighted quantilesInterpolatedWeighted quantilesTDigest
  quantilesTDigestWeighted quantileTDigest quantileTDigestWeighted rank rankCorr row_number simpleLinearRegression singleValueOrNull skewPop
  skewSamp sparkBar stddevPop stddevPopStable stddevSamp stddevSampStable STD STDDEV STDDEV_POP STDDEV_SAMP string_agg studentTTest
  studentTTestOneSample sum sumCount sumKahan sumMap minMap maxMap sumMappedArrays minMappedArrays maxMappedArrays sumWithOverflow topK
  topKWeighted uniq uniqCombined uniqCombined64 uniqExact uniqHLL12 uniqUpTo varPop varPopStable varSamp varSampStable VAR_POP VAR_SAMP
  welchTTest windowFunnel`)

const FUNCTIONS: ReadonlySet<string> = new Set([
  ...[OPERATORS, MATHEMATICS, TIME, TEXTS, COLLECTIONS, OTHERS].flatMap((words) => [...wordsOf(words)]),
  ...CONVERSIONS.map((name) => name.toLowerCase()),
])

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.trim().toLowerCase().split(/\s+/))
}
