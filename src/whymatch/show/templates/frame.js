// In a frame of a notebook, tells the notebook how tall the picture is; long ones scroll in their frame.
if (parent !== window) {
  const tell = ([{ target }]) => parent.postMessage({ whymatchHeight: target.offsetHeight }, "*");
  for (const picture of document.querySelectorAll(".picture:not(.long)")) new ResizeObserver(tell).observe(picture);
}
