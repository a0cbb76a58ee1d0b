const firstVisit = [
  {
    name: "two forum posts",
    left: "Wi-Fi drops every few minutes after resume\n\nSince last week my laptop loses its wireless connection shortly after I open the lid. It is a ThinkPad with an Intel AX210 card, running Ubuntu 24.04. Switching the network off and on again brings it back for a minute or two. The cable connection is fine, so I doubt that the router is to blame. I have already reinstalled the firmware package, without any effect. Is there a way to keep the card from going to sleep?\nThanks a lot in advance!",
    right: "Hello everybody, first post here. My desktop machine upstairs works perfectly, by the way.\n\nThe notebook is the problem: whenever it wakes up from suspend, WLAN disconnects again and again. If I toggle the network in the menu, it works for a moment and then it is gone. Over Ethernet everything is stable. I tried to install the firmware again, but that changed nothing. My guess is power management: can I stop the adapter from being suspended? The kernel log is full of messages that I do not understand.",
  },
  {
    name: "an answer and its source",
    left: "The bridge was closed to lorries in March. Cracks had been found in two of its cables. The repairs should be finished next summer.",
    right: "The town council met on Tuesday. In spring, heavy vehicles were banned from the bridge. An inspection had revealed damage to its suspension cables. Residents complained about the noise of the detour. The mayor expects the repairs to end by the summer of next year. A new playground was approved, too.",
    rule: "exactly",
    k: 3,
  },
  {
    name: "two sentences, word by word",
    left: "The committee rejected the minister's proposal on Monday.",
    right: "On Monday, the plan of the minister was turned down by the panel.",
    spans: "word",
  },
];
