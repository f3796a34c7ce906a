import type { Direction } from '../resources.js';

/**
 * A kind of occurrence and the texts that report it. Placeholders in braces differ from one occurrence to the next:
 * company, partner, city, country, category, person, site, percent, figure, days and weeks.
 */
export interface Story {
  headlines: readonly string[];
  sentences: readonly string[];
  anchorText: string;
  alertTypes: readonly string[];
  datapoints: readonly {
    name: string;
    direction: Direction;
    unit: 'percent' | 'price' | 'weeks' | 'days' | 'EUR million';
  }[];
  keywords: readonly string[];
  /** Whether the occurrence lies in the future, with projected times. */
  announced: boolean;
}

export const STORIES: readonly Story[] = [
  {
    headlines: [
      '{category} prices climb {percent}% as {company} raises its list',
      '{company} lifts {category} prices by {percent}%',
      'Buyers in {country} face dearer {category}',
      '{category}: {company} passes on higher input costs',
    ],
    sentences: [
      '{company} told customers that {category} will cost {percent}% more from next month, citing energy and feedstock.',
      'The increase applies to all contracts served from the {site} works in {city}.',
      '{person}, who heads sales at {company}, said the old price list had become untenable.',
      'Purchasers of {category} in {country} expect other mills to follow within weeks.',
      'Spot offers for {category} were heard around EUR {figure} above the previous settlement.',
      '{partner} said it would review its surcharge formula after the announcement by {company}.',
    ],
    anchorText: 'A producer raises its list price for a raw material and passes higher input costs on to buyers.',
    alertTypes: ['Price Volatility'],
    datapoints: [
      { name: 'Raw Material Price', direction: 'up', unit: 'percent' },
      { name: 'Contract Price', direction: 'up', unit: 'price' },
    ],
    keywords: ['price increase', 'list price', 'surcharge', 'input costs'],
    announced: true,
  },
  {
    headlines: [
      '{category} slides {percent}% on weak demand in {country}',
      'Oversupply pushes {category} lower',
      '{company} cuts {category} offers as orders thin',
      'Stocks weigh on {category} market',
    ],
    sentences: [
      '{category} lost {percent}% over the week as buyers in {country} ran down their stocks.',
      '{company} lowered its offers from {city} by about EUR {figure}, traders said.',
      'Inventories at the {site} terminal reached their highest level in three years.',
      '{person} of {partner} sees no recovery of demand before the next quarter.',
      'Importers delayed bookings of {category} and expect further discounts.',
      'Analysts described the decline as orderly, led by excess capacity.',
    ],
    anchorText: 'Weak demand and high stocks push the price of a traded good lower.',
    alertTypes: ['Price Volatility', 'Demand Shift'],
    datapoints: [
      { name: 'Raw Material Price', direction: 'down', unit: 'percent' },
      { name: 'Inventory Level', direction: 'up', unit: 'percent' },
    ],
    keywords: ['oversupply', 'weak demand', 'discounts', 'stock levels'],
    announced: false,
  },
  {
    headlines: [
      'Dockworkers at {city} vote for strike',
      'Strike looms at {site} terminal in {city}',
      '{city} port braces for walkout; {company} reroutes',
      'Union calls stoppage at {site} quay',
    ],
    sentences: [
      'Dockworkers at the {site} terminal in {city} voted for a walkout after wage talks failed.',
      'Union negotiator {person} said members had rejected an offer of {percent}%.',
      '{company} advised shippers of {category} to expect delays of {days} days.',
      'Carriers including {partner} began to divert vessels away from {city}.',
      'Employers at {site} called the stoppage disproportionate and asked for mediation.',
      'Forwarders in {country} report that yard space is already tight.',
    ],
    anchorText: 'Port workers vote to strike after wage talks fail, and cargo is rerouted.',
    alertTypes: ['Labor Unrest', 'Logistics Disruption'],
    datapoints: [
      { name: 'Lead Time', direction: 'up', unit: 'days' },
      { name: 'Labor Cost', direction: 'up', unit: 'percent' },
    ],
    keywords: ['dock strike', 'port congestion', 'wage dispute', 'vessel diversion'],
    announced: true,
  },
  {
    headlines: [
      'Fire halts {company} plant in {city}',
      'Blaze at {site} stops {category} output',
      '{company} declares force majeure after {city} fire',
      '{category} supply tightens after plant fire',
    ],
    sentences: [
      'A fire stopped production of {category} at the {site} plant of {company} in {city}.',
      '{company} declared force majeure on deliveries and put {percent}% of its capacity out of service.',
      'Plant manager {person} said nobody was hurt and that the cause was under investigation.',
      'Customers of {company} were told to plan with {weeks} weeks without shipments.',
      '{partner} offered replacement volumes of {category} from its own stock.',
      'Firefighters in {city} contained the blaze in the early morning.',
    ],
    anchorText: 'A fire at a production site leads to force majeure and lost capacity.',
    alertTypes: ['Supply Disruption', 'Industrial Accident'],
    datapoints: [
      { name: 'Production Capacity', direction: 'down', unit: 'percent' },
      { name: 'Lead Time', direction: 'up', unit: 'weeks' },
    ],
    keywords: ['plant fire', 'force majeure', 'outage', 'lost capacity'],
    announced: false,
  },
  {
    headlines: [
      '{company} to acquire {partner}',
      '{partner} agrees takeover by {company}',
      'Merger creates new force in {category}',
      '{company} bids for {partner} in {category} consolidation',
    ],
    sentences: [
      '{company} agreed to buy {partner}, a maker of {category} based in {city}, for EUR {figure} million.',
      'The combined group would hold about {percent}% of the {category} market in {country}.',
      '{person}, chief executive of {company}, promised supply continuity for all customers.',
      'The {site} site will become the joint research centre.',
      'Antitrust authorities in {country} have yet to clear the acquisition.',
      'Procurement managers fear less competition between bidders once the merger closes.',
    ],
    anchorText: 'Two suppliers in the same category agree to merge, which reduces competition.',
    alertTypes: ['Mergers and Acquisitions', 'Market Concentration'],
    datapoints: [
      { name: 'Market Share', direction: 'up', unit: 'percent' },
      { name: 'Supplier Competition', direction: 'down', unit: 'EUR million' },
    ],
    keywords: ['acquisition', 'takeover', 'consolidation', 'antitrust review'],
    announced: true,
  },
  {
    headlines: [
      '{country} imposes duty on {category} imports',
      'New tariff of {percent}% hits {category}',
      'Importers of {category} count the cost of {country} duty',
      '{category} tariff: {company} looks for new origins',
    ],
    sentences: [
      'The government of {country} announced a duty of {percent}% on imported {category}.',
      'Trade minister {person} said domestic producers needed protection from dumping.',
      '{company}, which ships {category} through {city}, called the tariff a heavy blow.',
      'Existing contracts are exempt until the {site} round of talks is over.',
      '{partner} estimates extra annual cost of EUR {figure} million.',
      'Lawyers advise importers to check the origin of each consignment.',
    ],
    anchorText: 'A government imposes an import duty on a traded good to protect domestic producers.',
    alertTypes: ['Trade Restriction', 'Regulatory Change'],
    datapoints: [
      { name: 'Import Duty', direction: 'up', unit: 'percent' },
      { name: 'Landed Cost', direction: 'up', unit: 'EUR million' },
    ],
    keywords: ['tariff', 'import duty', 'anti-dumping', 'origin rules'],
    announced: true,
  },
  {
    headlines: [
      '{company} files for insolvency',
      'Insolvency of {company} alarms {category} buyers',
      'Administrator takes over {company} in {city}',
      '{category} supplier {company} seeks creditor protection',
    ],
    sentences: [
      '{company} filed for insolvency at the court of {city} after banks withdrew a credit line.',
      'Administrator {person} intends to keep the {site} factory running for now.',
      'The supplier of {category} owes creditors about EUR {figure} million.',
      'Turnover had fallen {percent}% within a year.',
      '{partner} is said to be interested in the order book.',
      'Customers in {country} are advised to secure tools and consigned material.',
    ],
    anchorText: 'A supplier files for insolvency and an administrator takes over the business.',
    alertTypes: ['Financial Distress', 'Supply Disruption'],
    datapoints: [
      { name: 'Supplier Financial Health', direction: 'down', unit: 'EUR million' },
      { name: 'Supply Availability', direction: 'down', unit: 'percent' },
    ],
    keywords: ['insolvency', 'creditor protection', 'administrator', 'supplier default'],
    announced: false,
  },
  {
    headlines: [
      'Flooding cuts off {city} industrial zone',
      'High water stops {category} shipments from {city}',
      '{company} suspends {site} after floods',
      'Floods in {country} disrupt {category}',
    ],
    sentences: [
      'Heavy rain flooded the industrial zone of {city} and stopped shipments of {category}.',
      '{company} suspended work at {site} and sent its staff home.',
      'Rail links in the region will stay closed for {days} days, the operator said.',
      'Crisis coordinator {person} reported that water stood a metre high in the warehouses.',
      'About {percent}% of the {category} made in {country} comes from the district.',
      '{partner} moved its bookings to road transport.',
    ],
    anchorText: 'Flooding closes an industrial zone and interrupts shipments.',
    alertTypes: ['Natural Disaster', 'Logistics Disruption'],
    datapoints: [
      { name: 'Lead Time', direction: 'up', unit: 'days' },
      { name: 'Supply Availability', direction: 'down', unit: 'percent' },
    ],
    keywords: ['flood', 'rail closure', 'extreme weather', 'warehouse damage'],
    announced: false,
  },
  {
    headlines: [
      'Ransomware attack paralyses {company}',
      '{company} systems down after cyberattack',
      'Hackers hit {category} supplier {company}',
      'Order intake at {company} offline',
    ],
    sentences: [
      'A ransomware attack shut down order processing at {company} in {city}.',
      'Intruders encrypted servers of the {site} data centre, {person} confirmed.',
      'Deliveries of {category} are being dispatched by hand at {percent}% of normal volume.',
      'The company expects to restore its systems within {days} days.',
      '{partner} disconnected its electronic data interchange as a precaution.',
      'Authorities in {country} warn other manufacturers of the same malware.',
    ],
    anchorText: 'A cyberattack disables the order systems of a supplier and slows its deliveries.',
    alertTypes: ['Cyber Incident'],
    datapoints: [
      { name: 'Cyber Risk', direction: 'up', unit: 'percent' },
      { name: 'Order Processing Time', direction: 'up', unit: 'days' },
    ],
    keywords: ['ransomware', 'cyberattack', 'system outage', 'data breach'],
    announced: false,
  },
  {
    headlines: [
      '{company} to build {category} plant in {city}',
      'New {category} capacity planned at {site}',
      '{company} invests EUR {figure} million in {country}',
      '{city} wins {category} investment',
    ],
    sentences: [
      '{company} will invest EUR {figure} million in a new {category} plant at {site} near {city}.',
      'The expansion raises its capacity by {percent}% once the lines are ramped up.',
      'Project lead {person} expects first output within eighteen months.',
      '{partner} has already signed an offtake agreement.',
      'Subsidies from {country} cover part of the construction cost.',
      'Buyers hope that the additional {category} will ease tight supply.',
    ],
    anchorText: 'A manufacturer announces a new plant that will add production capacity.',
    alertTypes: ['Capacity Change'],
    datapoints: [
      { name: 'Production Capacity', direction: 'up', unit: 'percent' },
      { name: 'Capital Expenditure', direction: 'up', unit: 'EUR million' },
    ],
    keywords: ['capacity expansion', 'new plant', 'offtake agreement', 'investment'],
    announced: true,
  },
  {
    headlines: [
      '{company} recalls {category} over defect',
      'Faulty {category}: {company} starts recall',
      'Quality alert for {category} from {city}',
      '{company} stops delivery of {category} lots',
    ],
    sentences: [
      '{company} recalls lots of {category} made at {site} because of a material defect.',
      'About {percent}% of last quarter’s shipments may be affected.',
      'Quality director {person} advised customers to quarantine their stock.',
      'Replacement parts from {city} will take {weeks} weeks.',
      '{partner} found the defect during incoming inspection.',
      'The regulator of {country} was informed about the recall.',
    ],
    anchorText: 'A supplier recalls delivered goods because of a material defect.',
    alertTypes: ['Product Recall', 'Quality Issue'],
    datapoints: [
      { name: 'Defect Rate', direction: 'up', unit: 'percent' },
      { name: 'Lead Time', direction: 'up', unit: 'weeks' },
    ],
    keywords: ['recall', 'material defect', 'quarantine', 'incoming inspection'],
    announced: false,
  },
  {
    headlines: [
      '{country} tightens emission rules for {category}',
      'New reporting duty for {category} producers',
      '{company} warns of cost from {country} climate rules',
      'Regulator in {country} targets {category} footprint',
    ],
    sentences: [
      'Regulators in {country} adopted stricter emission limits for makers of {category}.',
      'Plants such as {site} in {city} must report their footprint every quarter.',
      '{person} of {company} put the cost of compliance at EUR {figure} million.',
      'Allowances became {percent}% dearer after the vote.',
      '{partner} plans to pass the expense on to its clients.',
      'Environmental groups welcomed the directive as overdue.',
    ],
    anchorText: 'A regulator tightens emission limits and reporting duties for producers.',
    alertTypes: ['Regulatory Change', 'Sustainability Violation'],
    datapoints: [
      { name: 'Regulatory Compliance', direction: 'up', unit: 'EUR million' },
      { name: 'Carbon Cost', direction: 'up', unit: 'percent' },
    ],
    keywords: ['emission limits', 'carbon allowances', 'compliance cost', 'reporting duty'],
    announced: true,
  },
  {
    headlines: [
      'Freight rates from {city} jump {percent}%',
      'Shippers pay more on {city} lanes',
      '{company} adds peak surcharge from {city}',
      'Tight capacity lifts {country} transport rates',
    ],
    sentences: [
      'Freight rates on lanes out of {city} rose {percent}% within a week.',
      '{company} introduced a peak surcharge of EUR {figure} per consignment of {category}.',
      'Hauliers around {site} lack drivers, association chair {person} said.',
      '{partner} moved part of its volume from road to rail.',
      'Shippers of {category} in {country} report rejected tenders.',
      'Brokers expect the squeeze to last until the end of the season.',
    ],
    anchorText: 'Transport capacity is short and freight rates rise on a regional lane.',
    alertTypes: ['Logistics Disruption', 'Price Volatility'],
    datapoints: [
      { name: 'Freight Rate', direction: 'up', unit: 'percent' },
      { name: 'Transport Capacity', direction: 'down', unit: 'percent' },
    ],
    keywords: ['freight rates', 'peak surcharge', 'driver shortage', 'tender rejection'],
    announced: false,
  },
  {
    headlines: [
      '{company} wins {category} contract from {partner}',
      '{partner} awards long-term {category} deal to {company}',
      'EUR {figure} million order for {company}',
      '{company} secures {category} supply agreement',
    ],
    sentences: [
      '{partner} awarded {company} a multi-year contract for {category} worth EUR {figure} million.',
      'Deliveries start from the {site} plant in {city}.',
      '{person}, purchasing chief at {partner}, named reliability as the deciding factor.',
      'The award lifts the order backlog of {company} by {percent}%.',
      'Rival bidders from {country} left the tender in the last round.',
      'Prices for {category} are indexed and reviewed every six months.',
    ],
    anchorText: 'A buyer awards a multi-year supply contract to one supplier after a tender.',
    alertTypes: ['Contract Award'],
    datapoints: [
      { name: 'Order Backlog', direction: 'up', unit: 'percent' },
      { name: 'Contract Value', direction: 'up', unit: 'EUR million' },
    ],
    keywords: ['supply agreement', 'tender award', 'order backlog', 'indexation'],
    announced: true,
  },
  {
    headlines: [
      'Power costs squeeze {category} makers in {country}',
      '{company} curtails {city} furnaces over energy bill',
      'Energy surcharge returns for {category}',
      '{category} output cut as power prices swing',
    ],
    sentences: [
      '{company} curtailed furnaces at {site} in {city} after power prices swung by {percent}%.',
      'Electricity makes up a third of the cost of {category}, {person} said.',
      'The grid operator of {country} asked large users to shed load.',
      'An energy surcharge of EUR {figure} will be added to invoices.',
      '{partner} locked in its electricity for the coming year.',
      'Melting shops may stay idle on expensive days.',
    ],
    anchorText: 'Volatile power prices make an energy-intensive producer curtail its output.',
    alertTypes: ['Price Volatility', 'Capacity Change'],
    datapoints: [
      { name: 'Energy Cost', direction: 'fluctuate', unit: 'percent' },
      { name: 'Production Capacity', direction: 'down', unit: 'percent' },
    ],
    keywords: ['energy surcharge', 'curtailment', 'power prices', 'load shedding'],
    announced: false,
  },
  {
    headlines: [
      '{company} names {person} as chief executive',
      'Change at the top of {company}',
      '{person} to lead {category} group {company}',
      '{company} board replaces chief executive',
    ],
    sentences: [
      'The supervisory board of {company} appointed {person} as chief executive.',
      '{person} previously ran the {site} division in {city}.',
      'The predecessor leaves after a disagreement over the {category} strategy.',
      'Shares of the group moved by {percent}% on the news.',
      'A savings programme of EUR {figure} million is to be presented soon.',
      'Customers such as {partner} expect no change to running agreements in {country}.',
    ],
    anchorText: 'A supplier replaces its chief executive after a disagreement over strategy.',
    alertTypes: ['Leadership Change'],
    datapoints: [
      { name: 'Management Stability', direction: 'unknown', unit: 'percent' },
      { name: 'Supplier Financial Health', direction: 'unknown', unit: 'EUR million' },
    ],
    keywords: ['chief executive', 'supervisory board', 'succession', 'savings programme'],
    announced: true,
  },
];
