"""The paper's experiments, run on plait's public interface, and set beside what the paper found."""
