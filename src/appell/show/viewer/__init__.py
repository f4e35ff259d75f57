"""The viewer: robots, runs and logs in the browser. It shows what robots answer."""
