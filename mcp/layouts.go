package mcp

// Parts of several layouts.
const (
	// asOf is the currency, the day of all prices without a day of their own, and the age of the newest.
	asOf = `[ ({^currency}, prices of {^price_updated_at:date}[, {^days_old:day} old])]`
	// more is how to get the next page.
	more = `[, more with cursor={next_cursor}]`
	// remarks are the notes behind a label.
	remarks = `<notes"; " {.:remark}>.` + "\n>"
	// identityOf is the beginning of a card's line.
	identityOf = `{name} |[ {set}][ #{number}] | {game}[ | {rarity}]`
	// pricedCard is a card's line. A detailed card has its page.
	pricedCard = identityOf + ` | {market_price_cents:$}[ of {price_updated_at:own date}][ | {variant}]` +
		`[ | {price_change_cents:±$}[ ({price_change_percent:±%})]]<+image_url [ | {url}]> | {id}` + "\n"
	// oneCard is the line of a result about one card.
	oneCard = identityOf + `[ | {url}] | {id}` + "\n"
	// candidate is the line of a card below another line.
	candidate = `   - ` + pricedCard
)

// The texts of the tools.
var (
	foundLayout = newLayout(`<+cards {cards:card}` + more + asOf + `
><-cards No card found.
><+notes Query: ` + remarks + `<cards {#}. ` + pricedCard + `>`)

	cardLayout = newLayout(`<card ` + oneCard + `<-prices no price
><+prices {prices:price}` + asOf + `:
><prices - {variant}, {condition} | {market_price_cents:$}[ of {price_updated_at:own date}]` +
		`[ | 7d [{change_7d_cents:±$} ]{change_7d_percent:±%}]` +
		`[ | 30d [{change_30d_cents:±$} ]{change_30d_percent:±%}]
>>`)

	moversLayout = newLayout(`<-movers No card moved {direction} in {period_days} days within these filters.
><+movers {movers:card}, {direction} most in {period_days} days` + asOf + `
><+notes Note: ` + remarks + `<movers {#}. ` + pricedCard + `>`)

	historyLayout = newLayout(oneCard + `{days:day} to {to}` + asOf +
		`<+downsampled , thinned; the summary is of every day>
<series {variant}, {condition}: <summary {trend} | change {change_cents:±$}[ ({change_percent:±%})]` +
		` | first {first.price_cents:$} on {first.date} | last {last.price_cents:$} on {last.date}` +
		` | min {min.price_cents:$} on {min.date} | max {max.price_cents:$} on {max.date}` +
		` | average {average_price_cents:$}[ | volatility {volatility_percent}% (spread of daily changes)]` +
		` | {data_points:day} with a price>
  <points" | " {market_price_cents:$} on {date}[ to {to}]>
><+notes Note: ` + remarks)

	valuedLayout = newLayout(`<+counts.priced Total {total_cents:$}><-counts.priced No total>: ` +
		`{counts.priced} of {counts.lines:line} priced[, {counts.unpriced:#} unpriced]` +
		`[, {counts.ambiguous:#} ambiguous][, {counts.unmatched:#} unmatched]` +
		`<+assumed_cents ; {assumed_cents:$} of it is assumed>` + asOf +
		`[; {left_out:more line} left out: send them in another call]
<+notes Note: ` + remarks +
		`<lines {line}. {status} | [[{line_total_cents:$} = {quantity} × ]{unit_price_cents:$}` +
		`[ of {price_updated_at:own date}] | ][{fitting:card} fit[, {range.from_cents:$}–{range.to_cents:$}, ` +
		`{candidates:candidate} of them]; ]<card ` + identityOf + `><+unit_price_cents ` +
		`<-assumed  | {variant}, {condition}><+assumed  | [{variant}, ]<assumed", " {used}>[, {condition}]` +
		`<assumed , assumed for {given}>>><+card [ | {message}]` +
		`<+ignored  | ignored: <ignored", " "{.}">><card <+image_url [ | {url}]> | {id}>>` +
		`<-card {message}>
<candidates ` + candidate + `>>`)

	setsLayout = newLayout(`<-sets No set found.
><+sets <-top_cards {sets:set}` + more + asOf + `
>><+notes Note: ` + remarks + `<sets <-^top_cards {#}. >{name}[ | {series}] | ` +
		`[{release_date}]<-release_date no date><+unreleased , not out yet> | {card_count:card} | {game} | {id}
[One of each: {value_cents:$}, {priced_cards} of {card_count:card} with a price<rarities  | {cards} ` +
		`[{rarity}]<-rarity without a rarity> {value_cents:$}>
]<top_cards ` + candidate + `>><+top_cards Top cards` + asOf + `:
><top_cards {#}. ` + pricedCard + `>`)
)
