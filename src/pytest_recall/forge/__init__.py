"""Write comments, issues and statuses to code hosts over their REST APIs."""
