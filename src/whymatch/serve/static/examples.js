// What a first visit may try, for each way.
const firstVisit = {
  match: [
    {
      name: "two forum posts",
      left: "Wi-Fi drops every few minutes after resume\n\nSince last week my laptop loses its wireless connection shortly after I open the lid. It is a ThinkPad with an Intel AX210 card, running Ubuntu 24.04. Switching the network off and on again brings it back for a minute or two. The cable connection is fine, so I doubt that the router is to blame. I have already reinstalled the firmware package, without any effect. Is there a way to keep the card from going to sleep?\nThanks a lot in advance!",
      right: "Hello everybody, first post here. My desktop machine upstairs works perfectly, by the way.\n\nThe notebook is the problem: whenever it wakes up from suspend, WLAN disconnects again and again. If I toggle the network in the menu, it works for a moment and then it is gone. Over Ethernet everything is stable. I tried to install the firmware again, but that changed nothing. My guess is power management: can I stop the adapter from being suspended? The kernel log is full of messages that I do not understand.",
    },
    {
      name: "two leaflets that contradict each other",
      left: "Take one tablet of 5 mg twice a day. Do not drink alcohol while you take it. Keep the tablets below 25 degrees. Side effects are rare. What is left over goes back to the pharmacy.",
      right: "Hello, and thank you for your trust. Keep the tablets at a temperature below 25 degrees. Take one tablet of 50 mg twice a day. You should not drink alcohol during the treatment. Side effects are not rare.",
    },
    {
      name: "two sentences, word by word",
      left: "The committee rejected the minister's proposal on Monday.",
      right: "On Monday, the plan of the minister was turned down by the panel.",
      spans: "word",
    },
  ],
  check: [
    {
      name: "an answer about the rules at work",
      answer: "Employees get 25 days of paid leave a year. Hotels may cost up to 150 euros a night. Lost devices have to be reported within one day. The canteen is closed on Fridays. Flights are booked in economy class, and the company pays for the taxi to the airport.",
      sources: [
        { id: "handbook", text: "Employees have 25 days of paid leave a year. Leave that is not taken by March expires. Requests are made at least two weeks ahead. Somebody who is ill tells the team before ten o'clock. A certificate is needed from the third day on. Parents can take up to twelve months of leave." },
        { id: "security", text: "Laptops are encrypted. Lost devices are reported within a day. Passwords have sixteen characters. Visitors are met at the door." },
        { id: "travel", text: "Trips of less than four hours are made by train. Flights are booked in economy class. Hotels may cost up to 120 euros a night. Meals are paid up to 40 euros a day. Receipts are handed in within a month." },
      ],
    },
  ],
  compare: [
    {
      name: "two versions of a contract",
      old: "SERVICE AGREEMENT\n\nThis Agreement is made on 4 March 2024 between Harbour Lane Studios Ltd (the \"Client\") and Northwick Networks Ltd (the \"Provider\").\n\n1. Services\n1.1 The Provider shall maintain the Client's network at its offices in Leeds and York.\n1.2 Faults that stop all work shall be answered within four hours, at any time of the day.\n1.3 The Provider may use subcontractors for cabling work.\n\n2. Term\n2.1 This Agreement begins on 1 April 2024 and runs for 24 months.\n2.2 Either party may end it at the end of a month by giving 60 days' written notice.\n\n3. Fees\n3.1 The Client shall pay a monthly fee of £1,450, excluding value added tax.\n3.2 Invoices are due within 30 days of receipt.\n3.3 If an invoice is paid late, interest of four per cent a year is charged on the amount outstanding, and the Provider may suspend the services until it is paid.\n3.4 The Provider shall not raise the fee during the first year.\n\n4. Confidentiality\n4.1 Each party keeps secret what it learns about the business of the other.\n4.2 This duty ends three years after the end of this Agreement.\n\n5. Liability\n5.1 Neither party is liable for loss of profit.\n5.2 The liability of the Provider is limited to the fees of the last twelve months.\n5.3 The Provider keeps insurance for professional indemnity of at least one million pounds.\n\n6. General\n6.1 Changes to this Agreement must be made in writing.\n6.2 This Agreement is governed by the law of England and Wales.",
      new: "SERVICE AGREEMENT\n\nThis Agreement is made on 4 March 2024 between Harbour Lane Studios Ltd (the \"Client\") and Northwick Networks Ltd (the \"Provider\").\n\n1. Services\n1.1 The Provider shall maintain the Client's network at its offices in Leeds and York.\n1.2 Faults that stop all work shall be answered within four hours, at any time of the day.\n1.3 Once a quarter, the Provider tests the backups and sends the Client a report.\n\n2. Term\n2.1 This Agreement begins on 1 April 2024 and runs for 36 months.\n2.2 Either party may end it at the end of a month by giving 60 days' written notice.\n2.3 This Agreement is governed by the law of England and Wales.\n\n3. Fees\n3.1 The Client shall pay a monthly fee of £1,450, excluding value added tax.\n3.2 Invoices are due within 30 days of receipt.\n3.3 If an invoice is paid late, interest of four per cent a year is charged on the amount outstanding. The Provider may then suspend the services until it is paid.\n3.4 The Provider shall raise the fee during the first year.\n\n4. Confidentiality\n4.1 Each party keeps confidential everything it finds out about the other's business.\n4.2 This duty ends three years after the end of this Agreement.\n\n5. Liability\n5.1 Neither party is liable for loss of profit.\n5.2 The Provider keeps insurance for professional indemnity of at least two million pounds.\n\n6. General\n6.1 Changes to this Agreement must be made in writing.\n6.2 The liability of the Provider for all claims is limited to the fees of the last twelve months.",
    },
  ],
  search: [
    { name: "a problem in two sentences", query: "My wireless connection drops every few minutes. Installing the driver again did not help." },
  ],
};
